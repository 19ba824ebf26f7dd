// Other forms of a problem, which have the faster loops.
#include <optional>
#include <utility>

#include "kernels/separable/choose.h"
#include "kernels/separable/strategies.h"

namespace torch_aclnn::kernels {
namespace {

View<5> with_depth_as_rows(const View<5>& view, int64_t columns, int64_t column_stride) {
    return {view.data,
            view.dtype,
            {view.size[0], view.size[1], 1, view.size[2], columns},
            {view.stride[0], view.stride[1], 0, view.stride[2], column_stride}};
}

// The dimension that planes of volumes extend, as neighbours in memory: samples (0), channels (1), or neither.
std::optional<int> dimension_of_planes(const Problem& problem) {
    for (int d : {1, 0}) {
        const auto follow = [=](const View<5>& view) { return view.size[d] == 1 || view.stride[d] == view.size[2] * view.stride[2]; };
        if (follow(problem.source) && follow(problem.target)) return d;
    }
    return std::nullopt;
}

View<5> with_planes_in(int d, View<5> view) {
    view.size[d] *= view.size[2];
    view.stride[d] = view.stride[2];
    view.size[2] = 1;
    return view;
}

}  // namespace

// The scales are rounded as one if windows of rows are of one size, and each number is scaled once where it lies in one of them.
bool can_long_rows(const Problem& problem) {
    if (!problem.has_volumes() || problem.source.size[4] != 1) return false;
    const bool has_dense_rows = problem.target.stride[4] == 1 && problem.target.stride[3] == problem.target.size[4];
    const Axis &rows = problem.rows(), &columns = problem.columns();
    return has_dense_rows && columns.has_one_term_each() && rows.has_one_divisor() && !rows.overlap();
}

// Not where most planes of few volumes are copies of others, unless a plane is one run.
bool pays_long_rows(const Problem& problem) {
    const int64_t volumes = problem.target.size[0] * problem.target.size[1];
    return problem.source.size[3] == 1 || volumes >= thresholds::kLongRowsVolumes || 2 * problem.depth().run_count() > problem.depth().in();
}

void run_long_rows(const Problem& problem, int thread_count) {
    const View<5>&source = problem.source, &target = problem.target;
    const int64_t width = target.size[4];
    Axis columns = problem.rows().repeat_each(width, problem.columns().divisor()[0]);
    const AxisSpec spec{AxisSpec::Kind::adaptive, columns.in(), columns.out(), 0, 0, 0, true, 0};
    run_best(Problem(with_depth_as_rows(source, source.size[3], source.stride[3]), with_depth_as_rows(target, target.size[3] * width, 1),
                     Axis(AxisSpec{AxisSpec::Kind::windows, 1, 1, 1, 1, 0, true, 0}), Axis(problem.spec(0)), std::move(columns), spec),
             thread_count);
}

bool can_single_planes(const Problem& problem) {
    return problem.has_volumes() && problem.depth().is_identity() && dimension_of_planes(problem).has_value();
}

// 2-D pooling has the faster loops, but for few planes.
bool pays_single_planes(const Problem& problem) {
    const View<5>& in = problem.target;
    return in.size[0] * (has_adjacent_cells(problem) ? 1 : in.size[1]) * in.size[2] >= thresholds::kSinglePlanes;
}

void run_single_planes(const Problem& problem, int thread_count) {
    const int d = *dimension_of_planes(problem);
    const AxisSpec specs[] = {{AxisSpec::Kind::windows, 1, 1, 1, 1, 0, true, 0}, problem.spec(1), problem.spec(2)};
    run_best(Problem(with_planes_in(d, problem.source), with_planes_in(d, problem.target), specs), thread_count);
}

}  // namespace torch_aclnn::kernels
