#include "kernels/separable/volumes.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/separable/volumes_job.h"
#include "kernels/flat_planes/flat_planes.h"
#include "kernels/flat_planes/gather_columns.h"
#include "kernels/support/cache.h"
#include "kernels/support/parallel.h"
#include "kernels/support/scratch.h"
#include "kernels/transposed_planes/transposed_planes.h"

namespace torch_aclnn::kernels {
namespace {

// Very small planes do not fill vectors; tables for whole volumes do, of which there have to be many. Of two vectors and more it is shorter
// to make a plane once, where others are copies of it.
bool suits_flat(const FlatTensors<5>& tensors, const WindowAxis& depth) {
    constexpr int64_t kVectorsOfCopies = 2, kMaxCells = 32, kMinVolumes = 64;
    const View<5>& in = tensors.target;
    const bool repeats_planes = 2 * depth.run_count() <= depth.in();
    const int64_t cells_of_copies = kVectorsOfCopies * gather_lanes();
    const int64_t max_cells = repeats_planes ? cells_of_copies : std::max(cells_of_copies, kMaxCells);
    return in.size[3] * in.size[4] * tensors.inner <= max_cells && suits_flat_planes(tensors, std::max(kMinVolumes, tensors.plane_size()));
}

using Windows = std::array<const WindowAxis*, 3>;

// Enough volumes: a plan takes as long as some groups. Beside wide gathers it pays neither where a table copies small volumes nor where
// most planes are copies.
bool suits_transposed(const FlatTensors<5>& tensors, const Windows& windows) {
    constexpr int64_t kMinVolumes = 48, kNumbersPerVolume = 8, kMinVolumeBesideWideGather = 48, kManyCopies = 4;
    if (!suits_transposed_planes(tensors, std::max(kMinVolumes, tensors.plane_size() / kNumbersPerVolume))) return false;
    if (!has_wide_gather()) return true;
    const bool overlap = std::any_of(windows.begin(), windows.end(), [](const WindowAxis* axis) { return axis->overlap(); });
    if (tensors.plane_size() <= kMinVolumeBesideWideGather && !overlap) return false;
    return windows[0]->in() < kManyCopies * windows[0]->run_count();
}

// Whether there was a loop for the volumes as a whole.
bool run_whole_volumes(const View<5>& grad_output, const View<5>& grad_input, const Windows& windows,
                       const std::array<std::vector<float>, 3>& scales, int thread_count) {
    const FlatTensors<5> tensors = flat_tensors(grad_output, grad_input);
    const bool transposed = suits_transposed(tensors, windows);
    if (!transposed && !suits_flat(tensors, *windows[0])) return false;
    FlatAxis axes[3];
    for (int d = 0; d < 3; ++d) axes[d] = flat_axis(*windows[d], grad_output.size[2 + d], scales[d]);
    if (transposed)
        TransposedPlanes(tensors, axes).run(thread_count);
    else
        FlatPlanes(tensors, axes).run(thread_count);
    return true;
}

// The planes of volumes, one by one: of short rows, and of longer ones that are not copies of others.
bool suits_flat_planes_of_volumes(const View<5>& grad_input, const WindowAxis& depth, const WindowAxis& rows) {
    constexpr int64_t kShortRow = 16, kMaxRow = 48, kMinPlanes = 2, kCellsPerPlane = 32;
    const View<5>& in = grad_input;
    const int64_t cells = in.size[3] * in.size[4], plane_count = in.size[0] * in.size[1] * depth.run_count();
    const bool repeats_rows = 2 * rows.run_count() < rows.in(), is_dense = in.stride[4] == 1 && in.stride[3] == in.size[4];
    return is_dense && in.size[4] <= (repeats_rows ? kShortRow : kMaxRow) &&
           suits_flat_planes(in.dtype, plane_count, cells, std::max(kMinPlanes, cells / kCellsPerPlane));
}

// Adjacent channels in both tensors may become one cell. Rows of windows follow each other.
bool has_adjacent_channels(const View<5>& grad_output, const View<5>& grad_input) {
    const int64_t channels = grad_input.size[1];
    const auto cells_follow = [=](const View<5>& view) { return view.size[4] == 1 || view.stride[4] == channels; };
    return channels > 1 && channels_innermost(grad_input) && grad_output.stride[1] == 1 && cells_follow(grad_output) &&
           cells_follow(grad_input);
}

// Planes without gaps, some of which are copies of others, and which are read from a near cache sooner than made again.
bool repeats_small_planes(const View<5>& grad_input, const WindowAxis& depth, int64_t inner) {
    constexpr int64_t kMaxBytes = 1 << 17;
    const int64_t width = grad_input.size[4] * inner;
    return depth.run_count() < depth.in() && grad_input.stride[4] == inner && grad_input.stride[3] == width &&
           grad_input.size[3] * width * element_size(grad_input.dtype) <= kMaxBytes;
}

// Columns are cells of `inner` adjacent channels. Where `sums` has blocks, it lists their sums.
struct Cells {
    int64_t inner = 1;
    GatherPlan sums;
};

// Few channels do not fill the lanes, unless a table goes over the cells of a row, or the row is made once for several.
template <class S>
Cells plan_cells(const View<5>& grad_output, const View<5>& grad_input, const WindowAxis& rows, const WindowAxis& columns) {
    constexpr int64_t kMinChannels = 4, kCopies = 2;
    const int64_t channels = grad_input.size[1], windows = grad_output.size[4];
    const int64_t row_count = grad_input.size[0] * grad_input.size[2] * grad_input.size[3];
    if (!has_adjacent_channels(grad_output, grad_input)) return {1, plan_columns<S>(columns, windows, 1, channels * row_count)};
    if (channels >= std::max(kMinChannels, gather_lanes())) return {channels, {}};
    GatherPlan sums = plan_columns<S>(columns, windows, channels, row_count);
    const bool repeats_rows = kCopies * rows.run_count() <= rows.in();
    if (channels >= kMinChannels || sums.table().blocks > 0 || repeats_rows) return {channels, std::move(sums)};
    return {1, plan_columns<S>(columns, windows, 1, channels * row_count)};
}

// Rows without gaps between them, all in one window of columns: then the rows of a plane are one long row, of which the windows hold runs.
// The scales are rounded as one if they are of one size, and each number is scaled once where it lies in one window.
bool has_one_window_of_columns(const View<5>& grad_output, const View<5>& grad_input, const WindowAxis& rows, const WindowAxis& columns) {
    const bool is_dense = grad_input.stride[4] == 1 && grad_input.stride[3] == grad_input.size[4];
    return is_dense && grad_output.size[4] == 1 && columns.run_end()[0] == columns.in() && columns.has_one_window_each() &&
           rows.has_one_divisor() && !rows.overlap();
}

View<4> with_depth_as_rows(const View<5>& view, int64_t columns, int64_t column_stride) {
    return {view.data,
            view.dtype,
            {view.size[0], view.size[1], view.size[2], columns},
            {view.stride[0], view.stride[1], view.stride[2], column_stride}};
}

// The dimension that planes of volumes extend, as neighbours in memory: samples (0), channels (1), or neither.
std::optional<int> dimension_of_planes(const View<5>& grad_output, const View<5>& grad_input) {
    for (int d : {1, 0}) {
        const auto follow = [=](const View<5>& view) { return view.size[d] == 1 || view.stride[d] == view.size[2] * view.stride[2]; };
        if (follow(grad_output) && follow(grad_input)) return d;
    }
    return std::nullopt;
}

View<4> with_planes_in(int d, const View<5>& view) {
    View<4> planes{view.data,
                   view.dtype,
                   {view.size[0], view.size[1], view.size[3], view.size[4]},
                   {view.stride[0], view.stride[1], view.stride[3], view.stride[4]}};
    planes.size[d] *= view.size[2];
    planes.stride[d] = view.stride[2];
    return planes;
}

// Where no two planes are pooled together: 2-D pooling has the faster loops, but for few planes.
std::optional<int> suits_planes(const View<5>& grad_output, const View<5>& grad_input, const WindowAxis& depth) {
    constexpr int64_t kMinPlanes = 16;
    const View<5>& in = grad_input;
    const int64_t planes_per_depth = in.size[0] * (has_adjacent_channels(grad_output, in) ? 1 : in.size[1]);
    if (!depth.is_identity() || planes_per_depth * in.size[2] < kMinPlanes) return std::nullopt;
    return dimension_of_planes(grad_output, in);
}

template <class S>
void run(View<5> grad_output, View<5> grad_input, WindowAxis depth, WindowAxis rows, WindowAxis columns, RegularWindows regular,
         int thread_count) {
    auto scales = window_scales<S, 3>({&depth, &rows, &columns});
    if constexpr (std::is_same_v<S, float>)
        if (run_whole_volumes(grad_output, grad_input, {&depth, &rows, &columns}, scales, thread_count)) return;
    if (const auto d = suits_planes(grad_output, grad_input, depth))
        return average_pool_backward(with_planes_in(*d, grad_output), with_planes_in(*d, grad_input), std::move(rows), std::move(columns),
                                     regular, thread_count);
    const auto table = [&](const WindowAxis& axis, int d) {
        return axis.table(grad_output.size[2 + d], scales[d].empty() ? nullptr : scales[d].data());
    };
    const bool is_flat = suits_flat_planes_of_volumes(grad_input, depth, rows);
    const Cells cells = is_flat ? Cells{} : plan_cells<S>(grad_output, grad_input, rows, columns);
    const int64_t inner = cells.inner;
    if (inner > 1) {
        grad_output.size[1] = grad_input.size[1] = 1;
        grad_output.stride[4] = grad_input.stride[4] = inner;  // of a single column it could be any number
    }
    const int64_t width = grad_input.size[4] * inner, windows = grad_output.size[4] * inner;
    const int64_t plane_count = grad_input.size[0] * grad_input.size[1] * grad_input.size[2];
    FlatStages stages;
    if constexpr (std::is_same_v<S, float>)
        if (is_flat) {
            const FlatAxis axes[] = {flat_axis(rows, grad_output.size[3], scales[1]), flat_axis(columns, grad_output.size[4], scales[2])};
            stages = FlatStages(axes, 2, 1);
        }
    const GatherTable column_sums = cells.sums.table();
    if (inner > 1 && column_sums.blocks > 0) scales[2] = repeat_each(scales[2], inner);
    VolumesJob job{};
    job.grad_output = grad_output;
    job.grad_input = grad_input;
    job.inner = inner;
    job.depth = table(depth, 0);
    job.rows = table(rows, 1);
    job.columns = table(columns, 2);
    job.column_sums = column_sums;
    if (is_flat) job.plane_stages[0] = stages.stage(0), job.plane_stages[1] = stages.stage(1);
    job.stream = is_large(grad_input);
    job.plane_bytes = round_to_lines(grad_output.size[3] * windows * static_cast<int64_t>(sizeof(S)) + kSlack);
    job.sum_bytes = round_to_lines((is_flat ? stages.line_size() : windows) * static_cast<int64_t>(sizeof(S)) + kSlack);
    job.keeps_plane = is_flat || repeats_small_planes(grad_input, depth, inner);
    const int64_t result = is_flat ? stages.padded_result_size() : job.keeps_plane ? grad_input.size[3] * width : width;
    job.result_bytes = round_to_lines(result * element_size(grad_input.dtype) + kSlack);
    job.sink_bytes = sink_bytes(job.result_bytes);
    const int64_t bytes = job.plane_bytes + job.sum_bytes + job.result_bytes + job.sink_bytes;
    VolumesLoop* const loop = TORCH_ACLNN_LOOP(volumes);
    parallel_for(plane_count, kCostOfSum * grad_input.size[3] * width, thread_count, [&](int64_t begin, int64_t end) {
        Scratch scratch(bytes);
        loop(job, begin, end, scratch.data());
    });
}

}  // namespace

void volumes_backward(const View<5>& grad_output, const View<5>& grad_input, WindowAxis depth, WindowAxis rows, WindowAxis columns,
                      RegularWindows regular, int thread_count) {
    for (WindowAxis* axis : {&depth, &rows, &columns}) axis->find_runs();
    if (has_one_window_of_columns(grad_output, grad_input, rows, columns)) {
        const int64_t width = grad_input.size[4];
        return average_pool_backward(with_depth_as_rows(grad_output, grad_output.size[3], grad_output.stride[3]),
                                     with_depth_as_rows(grad_input, grad_input.size[3] * width, 1), std::move(depth),
                                     repeat_each(rows, width, columns.divisor()[0]), {}, thread_count);
    }
    const auto run_in = grad_input.dtype == DType::float64 ? run<double> : run<float>;
    run_in(grad_output, grad_input, std::move(depth), std::move(rows), std::move(columns), regular, thread_count);
}

}  // namespace torch_aclnn::kernels
