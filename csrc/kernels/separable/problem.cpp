#include "kernels/separable/problem.h"

namespace torch_aclnn::kernels {

static bool is_complex(DType dtype) {
    return dtype == DType::complex64 || dtype == DType::complex128;
}

// A complex tensor as pairs of real numbers.
static View<5> as_real(View<5> view) {
    if (!is_complex(view.dtype)) return view;
    view.dtype = view.dtype == DType::complex64 ? DType::float32 : DType::float64;
    for (int64_t& stride : view.stride) stride *= 2;
    return view;
}

Problem::Problem(const View<5>& grad_output, const View<5>& grad_input, const AxisSpec (&specs)[3])
    : source(as_real(grad_output)),
      target(as_real(grad_input)),
      inner(is_complex(grad_input.dtype) ? 2 : 1),
      specs_{specs[0], specs[1], specs[2]} {
    if (pools() || specs[0].is_trivial()) return;
    axes_[0].emplace(AxisSpec{specs[0].kind, 1, 1, 0, 0, 0, false, 0});
    axes_[1].emplace(Axis(specs[0]).combine(Axis(specs[1])));
}

const Axis& Problem::axis(int d) const {
    if (!axes_[d]) axes_[d].emplace(specs_[d]);
    return *axes_[d];
}

}  // namespace torch_aclnn::kernels
