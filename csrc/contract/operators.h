// The operators of the package, a row each, by family. The extension, the engine and the fuzzer make their own rows of them, so that a
// further operator of a family is a row here and one in torch_aclnn/_operators.py:
//
//     row(Type, name, dims, aten, kind, data types, assumed data types, products, assumed products)
//
// The entry point is aclnn<Type>Backward, the operator torch_aclnn::<name>_backward, and torch's forward of planes of so many dimensions
// aten::<aten>. The kind of a padding is its mode (kernels/separable/operators.h). The data types (engine/opapi/dtypes.h) and the products
// (products.h) are those of the newest page; what is assumed no page lists, and torch_npu passes it.
#pragma once

#include <stdexcept>
#include <string_view>

#include "contract/products.h"

// clang-format off
#define TORCH_ACLNN_AVERAGE_POOLINGS(row) \
    row(AvgPool2d, avg_pool2d, 2, avg_pool2d, average, FLOATING, NO_DTYPE, kInferenceToA3, kAscend950) \
    row(AvgPool3d, avg_pool3d, 3, avg_pool3d, average, FLOATING, NO_DTYPE, kA2AndA3, kAscend950)

#define TORCH_ACLNN_ADAPTIVE_AVERAGE_POOLINGS(row) \
    row(AdaptiveAvgPool2d, adaptive_avg_pool2d, 2, adaptive_avg_pool2d, adaptive, FLOATING, NO_DTYPE, kInferenceToA3, kAscend950) \
    row(AdaptiveAvgPool3d, adaptive_avg_pool3d, 3, adaptive_avg_pool3d, adaptive, FLOATING, NO_DTYPE, kA2AndA3, kAscend950)

#define TORCH_ACLNN_PADDINGS(row) \
    row(ReplicationPad1d, replication_pad1d, 1, replication_pad1d, replication, WIDE, BF16, kInferenceToA3, kAscend950) \
    row(ReplicationPad2d, replication_pad2d, 2, replication_pad2d, replication, WIDE, BF16, kInferenceToA3, kAscend950) \
    row(ReplicationPad3d, replication_pad3d, 3, replication_pad3d, replication, WIDE | BF16, NO_DTYPE, kA2AndA3, kAscend950) \
    row(ReflectionPad1d, reflection_pad1d, 1, reflection_pad1d, reflection, WIDE | BF16, NO_DTYPE, kInferenceToA3, kAscend950) \
    row(ReflectionPad2d, reflection_pad2d, 2, reflection_pad2d, reflection, WIDE, BF16, kInferenceToA3, kAscend950) \
    row(ReflectionPad3d, reflection_pad3d, 3, reflection_pad3d, reflection, WIDE, BF16, kA2AndA3, kAscend950) \
    row(CircularPad2d, circular_pad2d, 2, _pad_circular, circular, FLOATING, NO_DTYPE, kA2AndA3, kNoProduct) \
    row(CircularPad3d, circular_pad3d, 3, _pad_circular, circular, FLOATING, NO_DTYPE, kA2AndA3, kNoProduct)

#define TORCH_ACLNN_MAX_UNPOOLINGS(row) \
    row(MaxUnpool2d, max_unpool2d, 2, max_unpool2d, unpool, FLOAT | FLOAT16 | INTEGRAL | BOOL, NO_DTYPE, kA2AndA3, kNoProduct) \
    row(MaxUnpool3d, max_unpool3d, 3, max_unpool3d, unpool, FLOAT | FLOAT16 | DOUBLE | INTEGRAL, NO_DTYPE, kA2AndA3, kNoProduct)

// This operator takes planes of any dimensions; its derivatives and its functions are its own.
#define TORCH_ACLNN_BATCH_NORMS(row) \
    row(BatchNormElemt, batch_norm_elemt, 0, native_batch_norm, batch_norm, FLOATING, NO_DTYPE, kA2AndA3, kAscend950)

#define TORCH_ACLNN_PLANE_OPERATORS(row)       \
    TORCH_ACLNN_AVERAGE_POOLINGS(row)          \
    TORCH_ACLNN_ADAPTIVE_AVERAGE_POOLINGS(row) \
    TORCH_ACLNN_PADDINGS(row)                  \
    TORCH_ACLNN_MAX_UNPOOLINGS(row)
// clang-format on

namespace torch_aclnn {

struct Listed {
    std::string_view operator_name;
    const char* entry_point;
    Products products, assumed;
};

// torch_aclnn/_operators.py has the versions.
#define TORCH_ACLNN_LISTED(Type, name, dims, aten, kind, dtypes, assumed_dtypes, products, assumed_products) \
    {#name, "aclnn" #Type "Backward", products, assumed_products},
constexpr Listed kListed[] = {TORCH_ACLNN_PLANE_OPERATORS(TORCH_ACLNN_LISTED) TORCH_ACLNN_BATCH_NORMS(TORCH_ACLNN_LISTED)};

constexpr const Listed& listed(std::string_view operator_name) {
    for (const Listed& row : kListed)
        if (row.operator_name == operator_name) return row;
    throw std::invalid_argument("listed: expected an operator of the package");
}

}  // namespace torch_aclnn
