// Comparison, with a tensor or a number. In place, the truth value takes the tensor's own dtype.

#include "vocabulary/pointwise/comparison_calls.h"

// ATen does not order wide unsigned integers, so this returns the same numbers in int64 or, for 64 bits, others in the same order.
static at::Tensor ordered(const at::Tensor& values) {
    switch (values.scalar_type()) {
        case at::kUInt16:
        case at::kUInt32: return values.to(at::kLong);
        case at::kUInt64: return as_signed(values).bitwise_xor(std::numeric_limits<int64_t>::min());
        default: return values;
    }
}
template <at::Tensor& (*function)(at::Tensor&, const at::Tensor&, const at::Tensor&)>
static at::Tensor& compared(at::Tensor& out, const at::Tensor& self, const at::Tensor& other) {
    const bool is_comparable = (self.scalar_type() == at::kUInt64) == (other.scalar_type() == at::kUInt64);
    return is_comparable ? function(out, ordered(self), ordered(other)) : function(out, self, other);
}
template <at::Tensor& (*function)(at::Tensor&, const at::Tensor&, const at::Scalar&)>
static at::Tensor& compared(at::Tensor& out, const at::Tensor& self, const at::Scalar& other) {
    if (self.scalar_type() != at::kUInt64) return function(out, ordered(self), other);
    if (!other.isIntegral(/*includeBool=*/true)) return function(out, self.to(at::kDouble), other);
    if (other.type() != at::kUInt64 && other.toLong() < 0)
        return function(out, at::zeros_like(self, at::kLong), other);  // each element is above a negative number
    return function(out, ordered(self), static_cast<int64_t>(other.toUInt64()) ^ std::numeric_limits<int64_t>::min());
}
