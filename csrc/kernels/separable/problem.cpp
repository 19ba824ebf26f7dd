#include "kernels/separable/problem.h"

#include <utility>

namespace torch_aclnn::kernels {
namespace {

bool is_complex(DType dtype) {
    return dtype == DType::complex64 || dtype == DType::complex128;
}

// A complex tensor as pairs of real numbers.
View<5> as_real(View<5> view) {
    if (!is_complex(view.dtype)) return view;
    view.dtype = view.dtype == DType::complex64 ? DType::float32 : DType::float64;
    for (int64_t& stride : view.stride) stride *= 2;
    return view;
}

// Windows that have no spec.
AxisSpec unknown(const Axis& axis) {
    return {AxisSpec::Kind::adaptive, axis.in(), axis.out(), 0, 0, 0, true, 0};
}

}  // namespace

Problem::Problem(const View<5>& grad_output, const View<5>& grad_input, const AxisSpec (&specs)[3])
    : source(as_real(grad_output)),
      target(as_real(grad_input)),
      inner(is_complex(grad_input.dtype) ? 2 : 1),
      specs_{specs[0], specs[1], specs[2]} {
    if (pools() || specs[0].is_trivial()) return;
    axes_[0].emplace(AxisSpec{specs[0].kind, 1, 1, 0, 0, 0, false, 0});
    axes_[1].emplace(Axis(specs[0]).combine(Axis(specs[1])));
}

Problem::Problem(const View<5>& grad_output, const View<5>& grad_input, Axis depth, Axis rows, Axis columns, const AxisSpec& columns_spec)
    : source(grad_output), target(grad_input), inner(1), specs_{unknown(depth), unknown(rows), columns_spec} {
    axes_[0].emplace(std::move(depth));
    axes_[1].emplace(std::move(rows));
    axes_[2].emplace(std::move(columns));
}

const Axis& Problem::axis(int d) const {
    if (!axes_[d]) axes_[d].emplace(specs_[d]);
    return *axes_[d];
}

}  // namespace torch_aclnn::kernels
