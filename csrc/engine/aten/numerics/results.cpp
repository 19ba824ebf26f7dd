#include "engine/aten/numerics/results.h"

#include <ATen/TensorIterator.h>

#include <cstring>

#include "engine/aten/numerics/temporaries.h"

// MKL's, where torch has it. It changes no bits if the factor is 1.
extern "C" __attribute__((weak)) void MKL_Somatcopy(char ordering, char operation, size_t rows, size_t columns, float factor,
                                                    const float* from, size_t from_stride, float* to, size_t to_stride);

namespace torch_aclnn::host::aten {
namespace {

// Whether the elements are of one type, and in the same order without gaps.
bool is_laid_out_alike(const at::Tensor& out, const at::Tensor& result) {
    return out.scalar_type() == result.scalar_type() && out.is_contiguous() && result.is_contiguous() && !result.is_conj() &&
           !result.is_neg();
}

// Whether the result was made where it belongs, or is the output.
bool is_in_place(const at::Tensor& out, const at::Tensor& result) {
    return out.is_same(result) || (out.const_data_ptr() == result.const_data_ptr() && is_laid_out_alike(out, result));
}

// Whether `from` is a transposed matrix, with its rows one after the other, in memory apart from that of `to`.
bool is_transposed_matrix(const at::Tensor& to, const at::Tensor& from) {
    if (from.dim() != 2 || from.sizes() != to.sizes() || from.scalar_type() != at::kFloat || to.scalar_type() != at::kFloat) return false;
    if (!to.is_contiguous() || from.stride(0) != 1 || from.stride(1) < from.size(0) || from.is_neg()) return false;
    const auto *const first = from.const_data_ptr<float>(), *const out = to.const_data_ptr<float>();
    return first + from.stride(1) * from.size(1) <= out || out + to.numel() <= first;
}

}  // namespace

at::Tensor as_signed(const at::Tensor& tensor) {
    switch (tensor.scalar_type()) {
        case at::kUInt16: return tensor.view(at::kShort);
        case at::kUInt32: return tensor.view(at::kInt);
        case at::kUInt64: return tensor.view(at::kLong);
        default: return tensor;
    }
}

void copy_elements(const at::Tensor& to, const at::Tensor& from) {
    constexpr int64_t kFewElements = 1024;
    if (MKL_Somatcopy == nullptr || from.numel() < kFewElements || !is_transposed_matrix(to, from)) {
        to.copy_(from);
        return;
    }
    MKL_Somatcopy('R', 'T', from.size(1), from.size(0), 1, from.const_data_ptr<float>(), from.stride(1), to.mutable_data_ptr<float>(),
                  to.size(1));
}

void write(const at::Tensor& out, const at::Tensor& result) {
    if (out.numel() != result.numel()) refuse("out", c10::str("the result's shape ", result.sizes()), c10::str(out.sizes()));
    stop_taking_outputs();
    if (out.numel() == 0 || is_in_place(out, result)) return;
    if (is_in_output(result)) return write(out, result.clone());
    const bool is_alike = is_laid_out_alike(out, result);
    if (is_alike) prefer_output(out, result);
    // With too few elements for several threads, copy_ would cost more than what it copies.
    if (is_alike && out.numel() < at::internal::GRAIN_SIZE)
        std::memmove(out.mutable_data_ptr(), result.const_data_ptr(), result.nbytes());
    else
        copy_elements(out, result.reshape(out.sizes()));
}

at::Tensor apart_from_others(const at::Tensor& result, const std::optional<at::Tensor>& out) {
    stop_taking_outputs();
    return is_in_output(result) && !(out && is_in_place(*out, result)) ? result.clone() : result;
}

}  // namespace torch_aclnn::host::aten
