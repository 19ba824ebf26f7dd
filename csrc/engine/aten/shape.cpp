// Data movement: joining, repeating, reversing, triangles. The input may be the output's memory, so most compute first and copy.
#include <ATen/ATen.h>

#include <algorithm>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"
#include "engine/aten/triangle.h"

#define ATEN_FAMILY "shape"
using namespace torch_aclnn::host::aten;

namespace torch_aclnn::host::aten::kind {
struct Position : Int {};  // beyond the ends it means the end; what is left between two of them is the shape of the output
}  // namespace torch_aclnn::host::aten::kind

namespace {

// ATen leaves out tensors of shape {0}, whatever the others' rank is.
int64_t largest_rank(at::TensorList tensors) {
    int64_t rank = 0;
    for (const at::Tensor& tensor : tensors) rank = std::max(rank, tensor.dim());
    return rank;
}

void require_repeats(at::IntArrayRef repeats, const at::Tensor& self) {
    const bool negative = std::any_of(repeats.begin(), repeats.end(), [](int64_t repeat) { return repeat < 0; });
    if (negative || static_cast<int64_t>(repeats.size()) < self.dim())
        torch_aclnn::host::refuse("repeats", c10::str("numbers from 0 on for at least the ", self.dim(), " dimensions of self"),
                                  c10::str(repeats));
}

// Without dimensions, the input counts as flat and there is one shift.
void require_shifts(at::IntArrayRef shifts, at::IntArrayRef dims, const at::Tensor& self) {
    if (dims.empty())
        require_as_many({{"shifts", shifts}}, {"a flat tensor", int64_t{1}});
    else
        require_as_many({{"shifts", shifts}}, {"dims", dims});
    for (const int64_t dim : dims) require_dim("dims", dim, self.dim());
}

// Sizes that make up the whole dimension, one for each output.
void require_pieces(at::IntArrayRef sizes, int64_t dim, const at::Tensor& self, at::TensorList out) {
    require_as_many({{"splitSize", sizes}}, {"out", out});
    require_values("splitSize", sizes, 0);
    const int64_t whole = self.dim() == 0 ? 0 : self.size(dim);
    if (c10::sum_integers(sizes) != whole)
        torch_aclnn::host::refuse("splitSize", c10::str("sizes whose sum is dimension ", dim, "'s, ", whole), c10::str(sizes));
}

void require_shape(const at::Tensor& out, at::IntArrayRef sizes) {
    if (out.sizes() != sizes) torch_aclnn::host::refuse("out", c10::str("shape ", sizes), c10::str("shape ", out.sizes()));
}

// Starts and ends count from the end where they are negative, and stop at it.
void require_sliced(const at::Tensor& out, const at::Tensor& self, int64_t dim, int64_t start, int64_t end, int64_t step) {
    if (self.dim() == 0) torch_aclnn::host::refuse("self", "a dimension to slice", "none");
    std::vector<int64_t> sizes = self.sizes().vec();
    int64_t& size = sizes[dim < 0 ? dim + self.dim() : dim];
    const int64_t first = std::clamp<int64_t>(start < 0 ? start + size : start, 0, size);
    const int64_t length = std::clamp<int64_t>(end < 0 ? end + size : end, first, size) - first;
    size = length / step + (length % step != 0);
    require_shape(out, sizes);
}

void require_permuted(const at::Tensor& out, const at::Tensor& self, at::IntArrayRef dims) {
    if (static_cast<int64_t>(dims.size()) != self.dim())
        torch_aclnn::host::refuse("dims", c10::str("each of the ", self.dim(), " dimensions of self"), c10::str(dims));
    std::vector<int64_t> sizes;
    for (const int64_t dim : dims) sizes.push_back(self.size(dim));
    require_shape(out, sizes);
}

}  // namespace

ATEN_CHECKED_ENTRY(aclnnCat, NUMBERS, require_dim("dim", dim, largest_rank(tensors)), (Tensors, tensors), (Int, dim), (Out, out)) {
    at::cat_out(out, tensors, dim);
}
ATEN_CHECKED_ENTRY(aclnnStack, NUMBERS, require_dim("dim", dim, tensors.empty() ? 0 : tensors[0].dim() + 1), (Tensors, tensors), (Int, dim),
                   (Out, out)) {
    out.copy_(at::stack(tensors, dim));
}

ATEN_CHECKED_ENTRY(aclnnSplitWithSize, NUMBERS, require_pieces(splitSize, dim, self, out), (In, self), (Ints, splitSize), (Dim, dim),
                   (Tensors, out)) {
    const auto pieces = self.split_with_sizes(splitSize, dim);
    for (size_t i = 0; i < pieces.size(); ++i) out[i].copy_(pieces[i]);
}

ATEN_CHECKED_ENTRY(aclnnSlice, NUMBERS, require_sliced(out, self, dim, start, end, step), (In, self), (Dim, dim), (Position, start),
                   (Position, end), (Positive, step), (Out, out)) {
    out.copy_(self.slice(dim, start, end, step));
}
ATEN_CHECKED_ENTRY(aclnnPermute, NUMBERS, require_permuted(out, self, dims), (In, self), (Dims, dims), (Out, out)) {
    out.copy_(self.permute(dims));
}

ATEN_CHECKED_ENTRY(aclnnRepeat, NUMBERS, require_repeats(repeats, self), (In, self), (Ints, repeats), (Out, out)) {
    out.copy_(self.repeat(repeats));
}
ATEN_ENTRY(aclnnFlip, NUMBERS, (In, self), (Dims, dims), (Out, out)) {
    out.copy_(at::flip(self, dims));
}
ATEN_CHECKED_ENTRY(aclnnRoll, FLOATING | INT8 | UINT8 | INT32 | INT64 | BOOL, require_shifts(shifts, dims, self), (In, self),
                   (Ints, shifts), (Ints, dims), (Out, out)) {
    out.copy_(at::roll(self, shifts, dims));
}

ATEN_ENTRY(aclnnTril, REAL | BOOL, (In, self), (Int, diagonal), (Out, out)) {
    write_triangle(out, self, diagonal, Triangle::lower);
}
ATEN_ENTRY(aclnnTriu, NUMBERS, (In, self), (Int, diagonal), (Out, out)) {
    write_triangle(out, self, diagonal, Triangle::upper);
}
ATEN_ENTRY(aclnnInplaceTril, REAL | BOOL, (Out, selfRef), (Int, diagonal)) {
    write_triangle(selfRef, selfRef, diagonal, Triangle::lower);
}
ATEN_ENTRY(aclnnInplaceTriu, NUMBERS, (Out, selfRef), (Int, diagonal)) {
    write_triangle(selfRef, selfRef, diagonal, Triangle::upper);
}

// Without a dimension the input counts as flat. The caller knows the size of the result and has made room for it.
ATEN_ENTRY(aclnnRepeatInterleave, NUMBERS, (In, self), (In, repeats), (NotNegative, outputSize), (Out, out)) {
    out.copy_(at::repeat_interleave(self, repeats, std::nullopt, outputSize));
}
ATEN_ENTRY(aclnnRepeatInterleaveWithDim, NUMBERS, (In, self), (In, repeats), (Dim, dim), (NotNegative, outputSize), (Out, out)) {
    out.copy_(at::repeat_interleave(self, repeats, dim, outputSize));
}
ATEN_ENTRY(aclnnRepeatInterleaveInt, NUMBERS, (In, self), (NotNegative, repeats), (NotNegative, outputSize), (Out, out)) {
    out.copy_(at::repeat_interleave(self, repeats, std::nullopt, outputSize));
}
ATEN_ENTRY(aclnnRepeatInterleaveIntWithDim, NUMBERS, (In, self), (NotNegative, repeats), (Dim, dim), (NotNegative, outputSize),
           (Out, out)) {
    out.copy_(at::repeat_interleave(self, repeats, dim, outputSize));
}
ATEN_ENTRY(aclnnRepeatInterleaveTensor, ANY, (In, repeats), (NotNegative, outputSize), (Out, out)) {
    out.copy_(at::repeat_interleave(repeats, std::optional(outputSize)));
}

// Every element's gradient is the sum over its copies.
ATEN_ENTRY(aclnnRepeatInterleaveGrad, ANY, (In, yGrad), (In, repeats), (Dim, dim), (Out, out)) {
    const at::Tensor copies = upcast(yGrad);
    const at::Tensor counts = repeats.reshape({-1}).expand({repeats.numel() == 1 ? out.size(dim) : repeats.numel()});
    out.copy_(at::zeros(out.sizes(), copies.options()).index_add_(dim, at::repeat_interleave(counts), copies));
}
