#include "kernels/average_pool/geometry.h"

#include <algorithm>
#include <utility>

#include "kernels/average_pool/job.h"
#include "kernels/flat_planes/gather_columns.h"
#include "kernels/support/scratch.h"

namespace torch_aclnn::kernels {
namespace {

constexpr int64_t kMaxPlane = 4096;  // windows whose sums fit in the first cache

// Few channels do not fill vectors. Windows that slide over more are sums of what lies so many channels apart, at any place of a row; of
// others a table goes over the cells of a row, unless most of these are copies.
bool suits_joined_channels(const Geometry& geometry) {
    constexpr int64_t kMaxChannelsOfCopies = 3;  // of windows apart, from which cells are copied one by one
    constexpr int64_t kFewChannels = 7, kMaxSlidingChannels = 32, kMaxCopies = 2, kMaxCopiesOfHalfTypes = 3;
    const auto [step, kernel, padding] = geometry.regular;
    const WindowAxis& columns = geometry.columns;
    const DType dtype = geometry.grad_input.dtype;
    const int64_t channels = geometry.grad_input.size[1];
    if (!geometry.rows.overlap() && !columns.overlap()) return channels <= kMaxChannelsOfCopies;
    if (channels <= kFewChannels) return true;
    const int64_t window_bytes = (kernel - 1) * channels * (has_float_sums(dtype) ? sizeof(float) : sizeof(double));
    if (step == 1 && kernel > 1) return channels <= kMaxSlidingChannels && window_bytes <= kSlack;
    const int64_t max_copies = is_half_type(dtype) ? kMaxCopiesOfHalfTypes : kMaxCopies;
    const bool has_table = has_float_sums(dtype) && channels <= std::min(gather_lanes() - 1, AveragePoolJob::kMaxInner);
    return has_table && columns.in() <= max_copies * columns.run_count();
}

}  // namespace

Geometry join_channels(Geometry geometry) {
    if (!suits_joined_channels(geometry)) return geometry;
    const int64_t channels = geometry.grad_input.size[1];
    const auto columns_follow = [=](const View<4>& view) { return view.size[3] == 1 || view.stride[3] == channels; };
    if (!channels_innermost(geometry.grad_input) || geometry.grad_output.stride[1] != 1) return geometry;
    if (!columns_follow(geometry.grad_output) || !columns_follow(geometry.grad_input)) return geometry;
    for (View<4>* view : {&geometry.grad_output, &geometry.grad_input}) {
        view->size[1] = 1;
        view->size[3] *= channels;
        view->stride[3] = 1;
    }
    geometry.inner = channels;
    return geometry;
}

Geometry join_rows(Geometry geometry) {
    constexpr int64_t kMaxRow = 8192, kMaxWidth = 64, kMinPlanes = 64;
    const View<4>& in = geometry.grad_input;
    const WindowAxis &rows = geometry.rows, &columns = geometry.columns;
    const int64_t height = in.size[2], width = in.size[3];
    if (geometry.grad_output.size[3] != 1 || columns.run_end()[0] != width || columns.last()[0] != 1) return geometry;
    if (height == 1 || in.stride[3] != 1 || in.stride[2] != width) return geometry;
    if (width > kMaxWidth || height * width > kMaxRow || in.size[0] * in.size[1] < kMinPlanes) return geometry;
    if (rows.out() == 0 || !rows.has_one_divisor()) return geometry;
    if (rows.overlap()) return geometry;
    WindowAxis joined = repeat_each(rows, width, columns.divisor()[0]);
    joined.find_runs();
    for (View<4>* view : {&geometry.grad_output, &geometry.grad_input}) {
        view->size[3] *= view->size[2];
        view->size[2] = 1;
    }
    geometry.grad_output.stride[3] = geometry.grad_output.stride[2];
    geometry.rows = adaptive_axis(1, 1);
    geometry.rows.find_runs();
    geometry.columns = std::move(joined);
    geometry.regular.step = 0;
    return geometry;
}

bool takes_whole_planes(const Geometry& geometry) {
    const View<4>& out = geometry.grad_output;
    const WindowAxis &rows = geometry.rows, &columns = geometry.columns;
    const bool dense = out.stride[3] == 1 && out.stride[2] == out.size[3] && out.size[2] * out.size[3] <= kMaxPlane;
    const auto [step, kernel, padding] = geometry.regular;
    if (!dense) return false;
    if (step > 0 && (kernel > step || out.size[3] * step < columns.in() + padding)) return false;
    return rows.has_one_window_each();
}

Geometry merge_channels(Geometry geometry) {
    View<4>&out = geometry.grad_output, &in = geometry.grad_input;
    const WindowAxis& rows = geometry.rows;
    const int64_t row_count = rows.in(), window_count = out.size[2], plane = window_count * out.size[3];
    const int64_t row_stride = row_count == 1 ? in.stride[1] : in.stride[2];
    if (out.stride[1] != plane || in.stride[1] != row_stride * row_count) return geometry;
    int64_t group = std::min(in.size[1], kMaxPlane / plane);
    while (in.size[1] % group != 0) --group;
    WindowAxis merged(row_count * group, 0);
    for (int64_t h = 0; h < row_count * group; ++h) {
        merged.first()[h] = rows.first()[h % row_count] + h / row_count * window_count;
        merged.last()[h] = rows.last()[h % row_count] + h / row_count * window_count;
    }
    merged.find_runs();
    geometry.rows = std::move(merged);
    for (View<4>* view : {&out, &in}) {
        view->size[1] /= group;
        view->stride[1] *= group;
    }
    out.size[2] *= group;
    in.stride[2] = row_stride;
    return geometry;
}

}  // namespace torch_aclnn::kernels
