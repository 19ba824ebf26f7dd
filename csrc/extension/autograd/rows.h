// The operators on planes (contract/operators.h) as types: how they are named, how many dimensions a plane has, and torch's forward. What
// else there is of an operator follows from its family's templates: its derivatives (maps.h, max_unpool.h), its kernels (ops/), its
// function in eager code (python/functions.cpp).
#pragma once

#include <ATen/Operators.h>

#include "contract/operators.h"

namespace torch_aclnn::rows {

// Whether the data types of a row, as they are written there, have bfloat16.
constexpr bool lists_bfloat16(std::string_view dtypes) {
    return dtypes.find("BF16") != dtypes.npos || dtypes.find("FLOATING") != dtypes.npos;
}

#define TORCH_ACLNN_ROW(Type, name, dims, aten, kind, dtypes, ...)                     \
    struct Type {                                                                      \
        static constexpr int kDims = dims;                                             \
        static constexpr const char* kFunction = #name;                                \
        static constexpr const char* kOp = #name "_backward";                          \
        static constexpr const char* kQualifiedOp = "torch_aclnn::" #name "_backward"; \
        static constexpr const char* kEntryPoint = "aclnn" #Type "Backward";           \
        static constexpr bool kListsBfloat16 = lists_bfloat16(#dtypes);                \
        /* What autograd shows as grad_fn. */                                          \
        static constexpr const char* kForwardNode = #Type "Backward";                  \
        static constexpr const char* kBackwardNode = #Type "BackwardBackward";         \
        static constexpr auto* kForward = &at::_ops::aten::call;                       \
    };
TORCH_ACLNN_PLANE_OPERATORS(TORCH_ACLNN_ROW)

}  // namespace torch_aclnn::rows
