// Arithmetic on two or three tensors or numbers, element by element, with broadcasting. Half types are computed in float32.

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/numerics/half_sums.h"
#include "engine/runtime/config/config.h"

namespace torch_aclnn::host::aten {

// A quotient is not rounded (0), or rounded towards zero (1) or downwards (2).
static std::optional<std::string_view> read_rounding(const char* name, int mode) {
    require_between(name, mode, 0, 2);
    return mode == 0 ? std::nullopt : std::optional<std::string_view>(mode == 1 ? "trunc" : "floor");
}

// The shape of a sum of tensors, which have one data type and broadcast.
static Expected summed(at::TensorList tensors) {
    Expected expected = like(tensors[0]);
    NamedShape whole("tensors", tensors[0]);
    for (const at::Tensor& tensor : tensors) {
        if (tensor.scalar_type() != *expected.type)
            refuse("tensors", dtype_name(*expected.type) + ", as the first has", dtype_name(tensor.scalar_type()));
        expected.sizes = broadcast({whole, {"tensors", tensor}}).sizes;
        whole.sizes = expected.sizes;
    }
    return expected;
}

namespace kind {
using Rounding = Kind<int32_t, std::optional<std::string_view>, std::optional<std::string_view>, read_rounding>;
}

}  // namespace torch_aclnn::host::aten

#include "vocabulary/pointwise/binary_calls.h"

// The pages exclude multiplying or dividing an integer tensor in place by a number that is no integer. Hardware does it and drops the
// fraction: torch_npu divides so for ReduceOp.AVG.
static bool drops_fractions(const at::Tensor& self, const at::Scalar& other) {
    return at::isIntegralType(self.scalar_type(), false) && !other.isComplex() && !torch_aclnn::host::config().strict;
}
static void multiply_in_place(at::Tensor& self, const at::Scalar& other) {
    const at::Tensor factor = wrapped(other);
    drops_fractions(self, other) ? self.copy_(at::mul(self, factor)) : at::mul_out(self, self, factor);
}
static void divide_in_place(at::Tensor& self, const at::Scalar& other) {
    const at::Tensor divisor = wrapped(other);
    drops_fractions(self, other) ? self.copy_(at::div(self, divisor, "trunc")) : at::div_out(self, self, divisor);
}

static void compute(const call::Sum& a) {
    at::Tensor sum = upcast(a.tensors[0]);
    for (const at::Tensor& tensor : a.tensors.slice(1)) sum = sum + upcast(tensor);
    write(a.out, sum);
}

// Numbers are not wrapped here: ATen has special cases for exponents such as 0.5 and 2, and they round differently.

// ATen has these functions for floating-point numbers only, so integers are cast to the type of the result.
template <at::Tensor& (*function)(at::Tensor&, const at::Tensor&, const at::Tensor&)>
static at::Tensor& of_results_type(at::Tensor& out, const at::Tensor& self, const at::Tensor& other) {
    const auto floating = [&](const at::Tensor& values) { return values.is_floating_point() ? values : values.to(out.scalar_type()); };
    return function(out, floating(self), floating(other));
}

static at::Tensor extreme(at::TensorList tensors, at::Tensor (*of_two)(const at::Tensor&, const at::Tensor&)) {
    at::Tensor result = tensors[0];
    for (const at::Tensor& tensor : tensors.slice(1)) result = of_two(result, tensor);
    return result;
}
