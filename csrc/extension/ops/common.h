// What the operators share: checks, results, and views for the CPU kernels.
#pragma once

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>

#include <initializer_list>

#include "kernels/support/view.h"

namespace torch_aclnn {

struct NamedTensor {
    const char* name;
    const at::Tensor& tensor;
};

// RuntimeError unless all tensors are on the first one's device; a kernel would follow an address of the wrong memory.
void check_same_device(const char* op, std::initializer_list<NamedTensor> tensors);

// RuntimeError unless the sizes agree; holds for symbolic sizes too.
void check_rank(const char* op, const char* name, int64_t rank, int64_t lowest, int64_t highest);
// `origin` says what the expected sizes follow from, if that is more than one other tensor.
void check_size(const char* op, const char* name, c10::SymIntArrayRef got, c10::SymIntArrayRef expected, const char* origin = "");
// RuntimeError unless a list has as many numbers as expected, each at least `lowest` and below 2^31.
void check_length(const char* op, const char* name, size_t length, std::initializer_list<size_t> allowed);
void check_values(const char* op, const char* name, at::IntArrayRef values, int64_t lowest);
void check_values(const char* op, const char* name, c10::SymIntArrayRef values, int64_t lowest);
// RuntimeError for a negative size, or sizes whose product int64_t does not hold.
void check_countable(const char* op, const char* name, c10::SymIntArrayRef sizes);
// RuntimeError unless it is on the device of `input` and has a value for each of its channels; undefined passes.
void check_per_channel(const char* op, const at::Tensor& input, const NamedTensor& values);
void check_dtype(const char* op, const NamedTensor& tensor, std::initializer_list<at::ScalarType> allowed);
void check_dtype(const char* op, const NamedTensor& tensor, const NamedTensor& reference);

// Returns an uninitialised, contiguous tensor of these sizes, of the dtype and device of `like`.
at::Tensor empty_contiguous(const at::Tensor& like, c10::SymIntArrayRef sizes);

// Returns an uninitialised tensor of these sizes, of the dtype and device of `like`. It is contiguous on npu, as torch_npu's own gradients
// are; elsewhere it has the memory format of `like`, as torch's have, if it has four dimensions.
at::Tensor empty_result(const at::Tensor& like, c10::SymIntArrayRef sizes);

// Gives `out` the result's sizes, as every out= overload of PyTorch does. Its dtype and device must be right already, and it may share
// memory neither with itself nor with an input.
void prepare_out(const char* op, const at::Tensor& out, const at::Tensor& like, c10::SymIntArrayRef sizes,
                 std::initializer_list<NamedTensor> inputs);

kernels::DType kernel_dtype(const char* op, at::ScalarType type);

// Returns the tensor as a kernel sees it; dimensions of size 1 are put in front up to Rank.
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

}  // namespace torch_aclnn
