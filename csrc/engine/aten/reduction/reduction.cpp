// Reductions and scans. Results take the dtype of the output that the caller made; half types accumulate in float32.

#include "vocabulary/reduction/reduction_calls.h"

// ATen counts no booleans in booleans, and multiplies half types in the half type.
static at::ScalarType sum_type(const at::Tensor& out) {
    return out.scalar_type() == at::kBool ? at::kLong : out.scalar_type();
}
static at::ScalarType product_type(const at::Tensor& out) {
    return at::isReducedFloatingType(out.scalar_type()) ? at::kFloat : sum_type(out);
}

// A norm of complex numbers is real, whatever it is written to.
static std::optional<at::ScalarType> norm_type(const at::Tensor& self, const at::Tensor& out) {
    return self.is_complex() ? std::nullopt : std::optional(out.scalar_type());
}

static at::IntArrayRef dims_or_all(const std::optional<std::vector<int64_t>>& dims) {
    return dims ? at::IntArrayRef(*dims) : at::IntArrayRef();
}

// The norm of order 0, which ATen does not take, is the number of elements other than 0.
static at::Tensor renormalized(const at::Tensor& self, const at::Scalar& p, int64_t dim, const at::Scalar& largest) {
    if (p.toDouble() > 0) return at::renorm(self, p, dim, largest);
    const at::Tensor slices = self.movedim(dim, -1), norms = (slices != 0).flatten(0, -2).sum(0);
    return (slices * at::where(norms > largest, largest.toDouble() / (norms + 1e-7), 1.0)).movedim(-1, dim);
}

// Returns the sums of what is in front of each element along the dimension, with the element itself or without it.
static at::Tensor cumulated(const at::Tensor& self, int64_t dim, bool exclusive, bool reverse) {
    const at::Tensor rows = self.dim() == 0 ? self.reshape({1}) : upcast(reverse ? self.flip(dim) : self);
    at::Tensor sums = at::cumsum(rows, dim, rows.scalar_type());
    if (exclusive && sums.size(dim) > 0)
        sums = at::cat({at::zeros_like(sums.narrow(dim, 0, 1)), sums.narrow(dim, 0, sums.size(dim) - 1)}, dim);
    return reverse ? sums.flip(dim) : sums;
}

static void compute(const call::MeanV2& a) {
    if (a.noopWithEmptyAxes && a.dim.empty()) return write(a.out, a.self);
    const bool is_integral = c10::isIntegralType(a.self.scalar_type(), true);
    a.out.copy_(at::mean(is_integral ? a.self.to(at::kDouble) : upcast(a.self), all_if_empty(a.dim), a.keepDim));
}
static void compute(const call::ReduceLogSum& a) {
    if (a.noopWithEmptyAxes && a.axes.empty()) return write(a.reduce, a.data);
    write(a.reduce, at::log(at::sum(upcast(a.data), all_if_empty(a.axes), a.keepDims)));
}

static void compute(const call::MaxV2& a) {
    if (a.noopWithEmptyDims && a.dims.empty()) return write(a.out, a.self);
    at::amax_out(a.out, a.self, a.dims, a.keepDims);
}
static void compute(const call::Aminmax& a) {
    at::amin_out(a.minOut, a.self, a.dim, a.keepdim);
    at::amax_out(a.maxOut, a.self, a.dim, a.keepdim);
}
