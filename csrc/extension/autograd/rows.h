// The operators on planes, a row each: how they are named, how many dimensions a plane has, and torch's forward. What else there is of an
// operator follows from its family's templates: its derivatives (maps.h, max_unpool.h), its kernels (ops/), its function in eager code
// (python/functions.cpp).
#pragma once

#include <ATen/ops/_pad_circular.h>
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/adaptive_avg_pool3d.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/avg_pool3d.h>
#include <ATen/ops/max_unpool2d.h>
#include <ATen/ops/max_unpool3d.h>
#include <ATen/ops/reflection_pad1d.h>
#include <ATen/ops/reflection_pad2d.h>
#include <ATen/ops/reflection_pad3d.h>
#include <ATen/ops/replication_pad1d.h>
#include <ATen/ops/replication_pad2d.h>
#include <ATen/ops/replication_pad3d.h>

#define TORCH_ACLNN_ROW(Type, name, dims, forward)                                     \
    struct Type {                                                                      \
        static constexpr int kDims = dims;                                             \
        static constexpr const char* kFunction = #name;                                \
        static constexpr const char* kOp = #name "_backward";                          \
        static constexpr const char* kQualifiedOp = "torch_aclnn::" #name "_backward"; \
        static constexpr const char* kEntryPoint = "aclnn" #Type "Backward";           \
        /* What autograd shows as grad_fn. */                                          \
        static constexpr const char* kForwardNode = #Type "Backward";                  \
        static constexpr const char* kBackwardNode = #Type "BackwardBackward";         \
        static constexpr auto* kForward = &forward;                                    \
    };

namespace torch_aclnn::rows {

TORCH_ACLNN_ROW(AvgPool2d, avg_pool2d, 2, at::avg_pool2d)
TORCH_ACLNN_ROW(AvgPool3d, avg_pool3d, 3, at::avg_pool3d)
TORCH_ACLNN_ROW(AdaptiveAvgPool2d, adaptive_avg_pool2d, 2, at::adaptive_avg_pool2d_symint)
TORCH_ACLNN_ROW(AdaptiveAvgPool3d, adaptive_avg_pool3d, 3, at::adaptive_avg_pool3d_symint)
TORCH_ACLNN_ROW(ReplicationPad1d, replication_pad1d, 1, at::replication_pad1d_symint)
TORCH_ACLNN_ROW(ReplicationPad2d, replication_pad2d, 2, at::replication_pad2d_symint)
TORCH_ACLNN_ROW(ReplicationPad3d, replication_pad3d, 3, at::replication_pad3d_symint)
TORCH_ACLNN_ROW(ReflectionPad1d, reflection_pad1d, 1, at::reflection_pad1d_symint)
TORCH_ACLNN_ROW(ReflectionPad2d, reflection_pad2d, 2, at::reflection_pad2d_symint)
TORCH_ACLNN_ROW(ReflectionPad3d, reflection_pad3d, 3, at::reflection_pad3d_symint)
TORCH_ACLNN_ROW(CircularPad2d, circular_pad2d, 2, at::_pad_circular_symint)
TORCH_ACLNN_ROW(CircularPad3d, circular_pad3d, 3, at::_pad_circular_symint)
TORCH_ACLNN_ROW(MaxUnpool2d, max_unpool2d, 2, at::max_unpool2d_symint)
TORCH_ACLNN_ROW(MaxUnpool3d, max_unpool3d, 3, at::max_unpool3d_symint)

}  // namespace torch_aclnn::rows
