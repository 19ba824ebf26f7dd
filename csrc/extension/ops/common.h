// What the five operators share: results, views for the CPU kernels, checks, and the registration of one kernel under all its names.
#pragma once

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include <initializer_list>

#include "extension/ops/autograd.h"
#include "kernels/view.h"

namespace torch_aclnn {

struct NamedTensor {
    const char* name;
    const at::Tensor& tensor;
};

// RuntimeError unless all tensors are on the first one's device; a kernel would follow an address of the wrong memory.
void check_same_device(const char* op, std::initializer_list<NamedTensor> tensors);

// RuntimeError unless the sizes agree; holds for symbolic sizes too.
void check_rank(const char* op, const char* name, int64_t rank, int64_t lowest, int64_t highest);
void check_size(const char* op, const char* name, c10::SymIntArrayRef got, c10::SymIntArrayRef expected);
void check_dtype(const char* op, const NamedTensor& tensor, std::initializer_list<at::ScalarType> allowed);
void check_dtype(const char* op, const NamedTensor& tensor, const NamedTensor& reference);

// An uninitialised, contiguous tensor of these sizes, of the dtype and device of `like`.
at::Tensor empty_contiguous(const at::Tensor& like, c10::SymIntArrayRef sizes);

// An uninitialised tensor of these sizes, of the dtype, device and (for four dimensions) memory format of `like`.
at::Tensor empty_result(const at::Tensor& like, c10::SymIntArrayRef sizes);

// Gives `out` the result's sizes, as every out= overload of PyTorch does; its dtype, device and overlap must be right already.
void prepare_out(const char* op, const at::Tensor& out, const at::Tensor& like, c10::SymIntArrayRef sizes,
                 std::initializer_list<NamedTensor> inputs);

kernels::DType kernel_dtype(const char* op, at::ScalarType type);

// The tensor as a kernel sees it; dimensions of size 1 are put in front up to Rank.
template <int Rank>
kernels::View<Rank> view(const char* op, const at::Tensor& tensor) {
    kernels::View<Rank> result{tensor.mutable_data_ptr(), kernel_dtype(op, tensor.scalar_type()), {}, {}};
    const int64_t missing = Rank - tensor.dim();
    for (int64_t d = 0; d < Rank; ++d) {
        result.size[d] = d < missing ? 1 : tensor.size(d - missing);
        result.stride[d] = d < missing ? 0 : tensor.stride(d - missing);
    }
    return result;
}

// True for the Ascend 910B family and later, false for the older training and inference products.
bool is_a2_or_later();

}  // namespace torch_aclnn

// Registers the kernels of one operator. In scope: `functional<run>` and `into<run>` for each of run_npu, run_cpu and run_meta.
#define TORCH_ACLNN_REGISTER(op)                                                           \
    TORCH_LIBRARY_IMPL(torch_aclnn, PrivateUse1, m) {                                      \
        m.impl(#op, functional<run_npu>);                                                  \
        m.impl(#op ".out", into<run_npu>);                                                 \
    }                                                                                      \
    TORCH_LIBRARY_IMPL(torch_aclnn, CPU, m) {                                              \
        m.impl(#op, functional<run_cpu>);                                                  \
        m.impl(#op ".out", into<run_cpu>);                                                 \
    }                                                                                      \
    TORCH_LIBRARY_IMPL(torch_aclnn, Meta, m) {                                             \
        m.impl(#op, functional<run_meta>);                                                 \
        m.impl(#op ".out", into<run_meta>);                                                \
    }                                                                                      \
    TORCH_LIBRARY_IMPL(torch_aclnn, Autograd, m) {                                         \
        m.impl(#op, without_derivative<functional<run_npu>>("torch_aclnn::" #op));         \
        m.impl(#op ".out", without_derivative<into<run_npu>>("torch_aclnn::" #op, "out")); \
    }
