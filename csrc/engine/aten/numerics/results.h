// How adapters compute and hand over what has no ATen `out` variant that fits.
//
// ATen's CPU kernels accumulate half types in the half type here and there. An adapter whose kernel sums takes upcast() inputs and hands
// the result to write(), so that half types are computed in float32 and rounded once.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <optional>
#include <tuple>
#include <vector>

#include "engine/runtime/error/error.h"

namespace torch_aclnn::host::aten {

inline at::Tensor upcast(const at::Tensor& tensor) {
    return at::isReducedFloatingType(tensor.scalar_type()) ? tensor.to(at::kFloat) : tensor;
}

inline std::optional<at::Tensor> upcast(const std::optional<at::Tensor>& tensor) {
    return tensor ? std::optional(upcast(*tensor)) : std::nullopt;
}

inline at::Tensor to_double(const at::Tensor& tensor) {
    return tensor.to(at::kDouble);
}

// Returns wide unsigned integers as signed ones in the same memory, for functions that only move elements and lack kernels for the former.
at::Tensor as_signed(const at::Tensor& tensor);

// Returns a tensor without gaps, which some kernels take per-channel tensors and statistics to be without a check.
inline at::Tensor dense(const at::Tensor& tensor) {
    return upcast(tensor).contiguous();
}
inline std::optional<at::Tensor> dense(const std::optional<at::Tensor>& tensor) {
    return tensor ? std::optional(dense(*tensor)) : std::nullopt;
}

// Dense tensors for kernels that work in place: these take all(), and what they make of it goes back into the tensors.
class InPlace {
   public:
    explicit InPlace(at::TensorList tensors) : tensors_(tensors.vec()) {
        for (const at::Tensor& tensor : tensors_) dense_.push_back(aten::dense(tensor));
    }
    at::TensorList all() const { return dense_; }
    void write_back() {
        for (size_t i = 0; i < tensors_.size(); i++)
            if (!tensors_[i].is_same(dense_[i])) tensors_[i].copy_(dense_[i]);
    }

   private:
    std::vector<at::Tensor> tensors_, dense_;
};

// Copies as `copy_` does; transposed matrices of float32 in all threads, where ATen takes one and six times as long.
void copy_elements(const at::Tensor& to, const at::Tensor& from);

// Copies the result into the caller's memory, in its dtype. The shapes may differ by dimensions of one element, as {C} and {1, C}.
void write(const at::Tensor& out, const at::Tensor& result);

// An output that is not wanted is null, and one that was not computed is undefined.
inline void write(const std::optional<at::Tensor>& out, const at::Tensor& result) {
    if (out && result.defined()) write(*out, result);
}

// Returns a copy of a result that was made in the memory of another output than its own, which may be written before it is.
at::Tensor apart_from_others(const at::Tensor& result, const std::optional<at::Tensor>& out);

// Writes the results of a function that has several, each into the output at its place.
template <class Results, class... Outputs>
void write_each(const Results& results, const Outputs&... outputs) {
    std::apply([&](auto... each) { ((each = apart_from_others(each, outputs)), ...), (write(outputs, each), ...); }, results);
}

// Which outputs are wanted: those that the mask asks for and that have a place.
template <class... Outputs>
std::array<bool, sizeof...(Outputs)> wanted(at::ArrayRef<unsigned char> mask, const Outputs&... outputs) {
    size_t i = 0;
    return {(mask[i++] != 0 && outputs.has_value())...};
}

}  // namespace torch_aclnn::host::aten
