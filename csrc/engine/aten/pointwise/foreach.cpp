// Operators on lists of tensors, as optimisers and gradient clipping use them. In place, `out` names the memory of the first list.
//
// A V2 takes a number by value, its first version in a tensor of one element. torch_npu prefers the V2.

#include <cmath>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/numerics/half_sums.h"

using namespace torch_aclnn::host::aten;

static void for_each(at::TensorList outs, auto compute) {
    for (size_t i = 0; i < outs.size(); i++) {
        at::Tensor out = outs[i];
        compute(out, i);
    }
}

static int64_t as_round_mode(const char* name, const at::Scalar& mode) {
    switch (mode.toLong()) {
        case 1:
        case 2:
        case 3:
        case 5:
        case 7: return mode.toLong();
        default: refuse(name, "1 round, 2 floor, 3 ceil, 5 trunc or 7 frac", c10::str(mode));
    }
}
static int64_t read_round_mode_number(const char* name, const aclScalar* handle) {
    return as_round_mode(name, read_scalar(name, handle));
}

static void round_off(at::Tensor& result, const at::Tensor& x, int64_t mode) {
    switch (mode) {
        case 1: at::round_out(result, x); break;
        case 2: at::floor_out(result, x); break;
        case 3: at::ceil_out(result, x); break;
        case 5: at::trunc_out(result, x); break;
        default: at::frac_out(result, x); break;
    }
}

static std::vector<Elements> one_value_each(at::TensorList tensors) {
    return std::vector<Elements>(tensors.size(), elements(1));
}

namespace torch_aclnn::host::aten::kind {
using RoundMode = Kind<const aclScalar*, int64_t, int64_t, read_round_mode_number>;
}

#include "vocabulary/pointwise/foreach_calls.h"

// A tensor without elements has no maximum or minimum, and no norm of a negative order.
static void check(const call::ForeachNorm& a) {
    const double order = a.scalar.toDouble();
    for (size_t i = 0; i < a.x.size(); i++)
        if (a.x[i].numel() == 0 && (order < 0 || std::isinf(order)))
            refuse("x", c10::str("elements, for the norm of order ", order), c10::str("none in tensor ", i));
}
static void compute(const call::ForeachRoundOffNumber& a) {
    const int64_t mode = as_round_mode("roundMode", a.roundMode.item());
    for_each(a.out, [&](at::Tensor& result, size_t i) { round_off(result, a.x[i], mode); });
}
