// Orders, ranks and sets. Results whose size depends on the data are packed, and their shape is written into the caller's handle.
#include <ATen/ATen.h>

#include <algorithm>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"

#define ATEN_FAMILY "sorting"
using namespace torch_aclnn::host::aten;

// As many elements as there are along the dimension, at most.
static void require_k(int64_t k, int64_t dim, const at::Tensor& self) {
    const int64_t elements = size_of(self, dim);
    if (k > elements) torch_aclnn::host::refuse("k", c10::str("at most the ", elements, " elements of dimension ", dim), c10::str(k));
}

ATEN_ENTRY(aclnnSort, FLOATING | INTEGRAL, (In, self), (Bool, stable), (Dim, dim), (Bool, descending), (Out, valuesOut, like(self)),
           (Out, indicesOut, shaped_like(self))) {
    const auto [values, indices] = at::sort(self, stable, dim, descending);
    write(valuesOut, values);
    write(indicesOut, indices);
}
ATEN_ENTRY(aclnnArgsort, FLOATING | INTEGRAL, (In, self), (Dim, dim), (Bool, descending), (Out, out, shaped_like(self))) {
    write(out, at::argsort(self, true, dim, descending));
}
#define TOPK(entry_point, ...)                                                                                                \
    ATEN_CHECKED_ENTRY(entry_point, REAL, require_k(k, dim, self), (In, self), (NotNegative, k), (Dim, dim), (Bool, largest), \
                       (Bool, sorted), __VA_ARGS__(Out, valuesOut, with_size(self.sizes(), dim, k)),                          \
                       (IndicesOut, indicesOut, with_size(self.sizes(), dim, k))) {                                           \
        at::topk_out(valuesOut, indicesOut, self, k, dim, largest, sorted);                                                   \
    }
TOPK(aclnnTopk)
// The policy chooses how the chip sorts, which no result shows but the order of equal ones.
TOPK(aclnnTopkV2, (TrueOrNot, sortPolicy), )
ATEN_CHECKED_ENTRY(aclnnKthvalue, FLOATING | INTEGRAL, require_k(k, dim, self), (In, self), (Positive, k), (Dim, dim), (Bool, keepdim),
                   (Out, valuesOut, reduced(self, dim, keepdim)), (IndicesOut, indicesOut, reduced(self, dim, keepdim))) {
    at::kthvalue_out(valuesOut, indicesOut, self, k, dim, keepdim);
}
ATEN_ENTRY(aclnnMedian, FLOATING | INTEGRAL, (In, self), (Out, out, one_value())) {
    write(out, at::median(self));
}
ATEN_ENTRY(aclnnNanMedian, FLOATING | INTEGRAL, (In, self), (Out, out, one_value())) {
    write(out, at::nanmedian(self));
}
// ATen's kernel reads other memory where self has the same element at several places.
ATEN_ENTRY(aclnnMedianDim, FLOATING | INTEGRAL, (In, self), (Dim, dim), (Bool, keepDim), (Out, valuesOut, chosen(self, dim, keepDim)),
           (IndicesOut, indicesOut, reduced(self, dim, keepDim))) {
    at::median_out(valuesOut, indicesOut, self.contiguous(), dim, keepDim);
}
ATEN_ENTRY(aclnnNanMedianDim, FLOATING | INTEGRAL, (In, self), (Dim, dim), (Bool, keepDim), (Out, valuesOut, chosen(self, dim, keepDim)),
           (IndicesOut, indicesOut, reduced(self, dim, keepDim))) {
    at::nanmedian_out(valuesOut, indicesOut, self.contiguous(), dim, keepDim);
}

// One sequence for all, or one for each row of self.
static Expected searched(const at::Tensor& self, const at::Tensor& sequence) {
    const bool fits =
        sequence.dim() == 1 || (sequence.dim() > 1 && without_dim(sequence.sizes(), -1).sizes == without_dim(self.sizes(), -1).sizes &&
                                self.dim() == sequence.dim());
    if (!fits)
        torch_aclnn::host::refuse("sortedSequence", c10::str("1 dimension, or the shape of self, ", self.sizes(), ", but for the last one"),
                                  shape_text(sequence.sizes()));
    return shaped_like(self);
}
ATEN_ENTRY(aclnnSearchSorted, FLOAT | FLOAT16 | DOUBLE | INTEGRAL, (In, sortedSequence), (In, self), (Bool, outInt32), (Bool, right),
           (OptIn, sorter, shaped_like(sortedSequence)), (Out, out, searched(self, sortedSequence))) {
    write(out, at::searchsorted(sortedSequence, self, outInt32, right, std::nullopt, sorter));
}
ATEN_ENTRY(aclnnSearchSorteds, NUMBERS, (In, sortedSequence, shape({sortedSequence.numel()})), (Scalar, self), (Bool, outInt32),
           (Bool, right), (OptIn, sorter, shaped_like(sortedSequence)), (Out, out, elements(1))) {
    write(out, at::searchsorted(sortedSequence, self, outInt32, right, std::nullopt, sorter));
}

ATEN_ENTRY(aclnnBucketize, NUMBERS, (In, self), (In, boundaries, shape({boundaries.numel()})), (Bool, outInt32), (Bool, right),
           (Out, out, shaped_like(self))) {
    write(out, at::bucketize(self, boundaries, outInt32, right));
}

// Positions that are not zero: one row each, or, in V2, one column each.
ATEN_ENTRY(aclnnNonzero, REAL | BOOL, (In, self), (Packed, out)) {
    out.pack(at::nonzero(self));
}
ATEN_ENTRY(aclnnNonzeroV2, ANY, (In, self), (Packed, out)) {
    out.pack(at::nonzero(as_signed(self)).t());
}
ATEN_CHECKED_ENTRY(aclnnMaskedSelect, REAL | BOOL, (void)broadcast({{"self", self}, {"mask", mask}}), (In, self), (Mask, mask),
                   (Packed, out)) {
    out.pack(at::masked_select(self, mask.to(at::kBool)));
}

// The caller sends an empty tensor for an output that it does not want. ATen computes the inverse and the counts anyway when both are free.
ATEN_ENTRY(aclnnUnique, ANY.without(COMPLEX), (In, self), (Bool, sorted), (Bool, returnInverse), (Packed, valueOut),
           (Out, inverseOut, if_wanted(returnInverse, shaped_like(self)))) {
    const auto [values, inverse] = at::_unique(self, sorted, returnInverse);
    valueOut.pack(values);
    if (returnInverse) write(inverseOut, inverse);
}
ATEN_ENTRY(aclnnUnique2, ANY.without(COMPLEX), (In, self), (Bool, sorted), (Bool, returnInverse), (Bool, returnCounts), (Packed, valueOut),
           (Out, inverseOut, if_wanted(returnInverse || inverseOut.numel() > 0, shaped_like(self))), (Packed, countsOut)) {
    const auto [values, inverse, counts] = at::_unique2(self, sorted, returnInverse || inverseOut.numel() > 0, returnCounts);
    valueOut.pack(values);
    if (inverseOut.numel() > 0) write(inverseOut, inverse);
    if (returnCounts) countsOut.pack(counts);
}
// What is compared must have elements, of any number of slices.
static void require_comparable(int64_t dim, const at::Tensor& self) {
    const int64_t empty = std::count(self.sizes().begin(), self.sizes().end(), 0);
    if (empty > (size_of(self, dim) == 0 ? 1 : 0))
        torch_aclnn::host::refuse("self", c10::str("elements in each dimension but ", dim), shape_text(self.sizes()));
}
ATEN_CHECKED_ENTRY(aclnnUniqueDim, ANY.without(COMPLEX), require_comparable(dim, self), (In, self), (Bool, sorted), (Bool, returnInverse),
                   (Dim, dim), (Packed, valueOut),
                   (Out, inverseOut, if_wanted(returnInverse || inverseOut.numel() > 0, shape({size_of(self, dim)}))),
                   (Packed, countsOut)) {
    const auto [values, inverse, counts] = at::unique_dim(self, dim, sorted, true, true);
    valueOut.pack(values);
    if (inverseOut.numel() > 0) write(inverseOut, inverse);
    countsOut.pack(counts);
}

// Without a dimension, which the caller says with this number, the input counts as flat.
constexpr int64_t kNoDimension = 1000;
static void require_dim_or_none(int64_t dim, const at::Tensor& self) {
    if (dim == kNoDimension) return;
    require_dim("dim", dim, self.dim());
    require_comparable(dim, self);
}
ATEN_CHECKED_ENTRY(aclnnUniqueConsecutive, ANY, require_dim_or_none(dim, self), (In, self), (Bool, returnInverse), (Bool, returnCounts),
                   (Int, dim), (Packed, valueOut),
                   (Out, inverseOut, if_wanted(returnInverse, dim == kNoDimension ? shaped_like(self) : shape({size_of(self, dim)}))),
                   (Packed, countsOut)) {
    const auto dimension = dim == kNoDimension ? std::nullopt : std::optional(dim);
    const auto [values, inverse, counts] = at::unique_consecutive(self, returnInverse, returnCounts, dimension);
    valueOut.pack(values);
    if (returnInverse) write(inverseOut, inverse);
    if (returnCounts) countsOut.pack(counts);
}
