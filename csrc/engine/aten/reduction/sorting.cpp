// Orders, ranks and sets. Results whose size depends on the data are packed, and their shape is written into the caller's handle.

#include "vocabulary/reduction/sorting_calls.h"

// There is one sequence for all, or one for each row of self.
static Expected searched(const at::Tensor& self, const at::Tensor& sequence) {
    const bool fits =
        sequence.dim() == 1 || (sequence.dim() > 1 && without_dim(sequence.sizes(), -1).sizes == without_dim(self.sizes(), -1).sizes &&
                                self.dim() == sequence.dim());
    if (!fits)
        refuse("sortedSequence", c10::str("1 dimension, or the shape of self, ", self.sizes(), ", but for the last one"),
               shape_text(sequence.sizes()));
    return shaped_like(self);
}

// The caller sends an empty tensor for an output that it does not want. ATen computes the inverse and the counts anyway when both are free.
static void compute(const call::Unique& a) {
    const auto [values, inverse] = at::_unique(a.self, a.sorted, a.returnInverse);
    a.valueOut.pack(values);
    if (a.returnInverse) write(a.inverseOut, inverse);
}
static void compute(const call::Unique2& a) {
    const auto [values, inverse, counts] = at::_unique2(a.self, a.sorted, a.returnInverse || a.inverseOut.numel() > 0, a.returnCounts);
    a.valueOut.pack(values);
    if (a.inverseOut.numel() > 0) write(a.inverseOut, inverse);
    if (a.returnCounts) a.countsOut.pack(counts);
}
// A slice that is compared must have elements; there may be any number of slices.
static void require_comparable(int64_t dim, const at::Tensor& self) {
    const int64_t empty = std::count(self.sizes().begin(), self.sizes().end(), 0);
    if (empty > (size_of(self, dim) == 0 ? 1 : 0))
        refuse("self", c10::str("elements in each dimension but ", dim), shape_text(self.sizes()));
}
static void compute(const call::UniqueDim& a) {
    const auto [values, inverse, counts] = at::unique_dim(a.self, a.dim, a.sorted, true, true);
    a.valueOut.pack(values);
    if (a.inverseOut.numel() > 0) write(a.inverseOut, inverse);
    a.countsOut.pack(counts);
}

// The caller passes this number for no dimension, in which case the input counts as flat.
constexpr int64_t kNoDimension = 1000;
static void check(const call::UniqueConsecutive& a) {
    if (a.dim == kNoDimension) return;
    require_dim("dim", a.dim, a.self.dim());
    require_comparable(a.dim, a.self);
}
static void compute(const call::UniqueConsecutive& a) {
    const auto dimension = a.dim == kNoDimension ? std::nullopt : std::optional(a.dim);
    const auto [values, inverse, counts] = at::unique_consecutive(a.self, a.returnInverse, a.returnCounts, dimension);
    a.valueOut.pack(values);
    if (a.returnInverse) write(a.inverseOut, inverse);
    if (a.returnCounts) a.countsOut.pack(counts);
}
