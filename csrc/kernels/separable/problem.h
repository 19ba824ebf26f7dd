// A gradient that is a map of planes: along each axis, indices of grad_input are sums of indices of grad_output.
#pragma once

#include <optional>

#include "kernels/separable/axis.h"
#include "kernels/separable/thresholds.h"
#include "kernels/support/view.h"

namespace torch_aclnn::kernels {

// grad_input[n,c,d,h,w] = sum over ow of (sum over oh of (sum over od of grad_output[n,c,od,oh,ow] * scale[od]) * scale[oh]) * scale[ow].
// Paddings have no scales. Their depth and rows are one axis, as whose terms the rows of a volume are added up: then the axis of depth has
// one index, while the views keep the dimension.
class Problem {
   public:
    // Takes the specs of depth, rows and columns.
    Problem(const View<5>& grad_output, const View<5>& grad_input, const AxisSpec (&specs)[3]);

    bool pools() const { return specs_[2].has_windows(); }
    // Whether planes are pooled with others of their volume.
    bool has_volumes() const { return pools() && !specs_[0].is_trivial(); }
    const AxisSpec& spec(int d) const { return specs_[d]; }
    // The axis is made when it is first asked for.
    const Axis& axis(int d) const;
    const Axis& depth() const { return axis(0); }
    const Axis& rows() const { return axis(1); }
    const Axis& columns() const { return axis(2); }
    template <class S>
    std::array<std::vector<S>, 3> scales() const {
        return window_scales<S>({&depth(), &rows(), &columns()});
    }

    DType dtype() const { return target.dtype; }

    View<5> source, target;  // both are of real numbers, and strides count these
    int64_t inner;           // adjacent numbers of a cell: 2 for complex ones

   private:
    AxisSpec specs_[3];
    mutable std::optional<Axis> axes_[3];
};

// Whether windows follow each other at a constant step, for which there is a loop that is faster than tables.
inline bool has_loop_of_steps(const AxisSpec& spec) {
    return spec.step > 0 && spec.step <= thresholds::kMaxStep && (spec.kernel - 1) / spec.step < thresholds::kMaxTermsOfStep;
}

// Whether the cells of a plane or volume, of `inner` numbers, follow each other.
inline bool is_dense(const View<5>& view, int64_t inner) {
    int64_t expected = inner;
    for (int d = 4; d >= 2; expected *= view.size[d--])
        if (view.size[d] != 1 && view.stride[d] != expected) return false;
    return true;
}

// Whether all channels are adjacent in both tensors, and may become one cell. With `rows_follow`, so are the cells of a row.
inline bool has_adjacent_channels(const Problem& problem) {
    return problem.source.stride[1] == problem.inner && channels_innermost(problem.target, problem.inner);
}
inline bool has_adjacent_cells(const Problem& problem) {
    const int64_t channels = problem.target.size[1];
    const auto cells_follow = [=](const View<5>& view) { return view.size[4] == 1 || view.stride[4] == channels; };
    return has_adjacent_channels(problem) && cells_follow(problem.source) && cells_follow(problem.target);
}

}  // namespace torch_aclnn::kernels
