#include "kernels/average_pool/average_pool.h"

#include <algorithm>
#include <utility>

#include "kernels/average_pool/geometry.h"
#include "kernels/average_pool/job.h"
#include "kernels/flat_planes/flat_planes.h"
#include "kernels/flat_planes/gather_columns.h"
#include "kernels/full_width_windows/full_width_windows.h"
#include "kernels/support/cache.h"
#include "kernels/support/parallel.h"
#include "kernels/support/scratch.h"
#include "kernels/transposed_planes/transposed_planes.h"

namespace torch_aclnn::kernels {
namespace {

// Adjacent channels in both tensors, and not at the same time adjacent columns.
bool channels_last(const View<4>& grad_output, const View<4>& grad_input) {
    constexpr int64_t kMinChannels = 4;  // fewer do not fill the lanes
    return grad_input.size[1] >= kMinChannels && grad_output.stride[1] == 1 && channels_innermost(grad_input);
}

// The loops for regular windows pay for short steps and few terms only.
RegularWindows worthwhile(const RegularWindows& regular) {
    constexpr int64_t kMaxTerms = 16, kMaxStep = 3;
    const bool pays = regular.step > 0 && regular.step <= kMaxStep && (regular.kernel - 1) / regular.step < kMaxTerms;
    return {pays ? regular.step : 0, regular.kernel, regular.padding};
}

// The parts of the scratch memory for adjacent columns.
void divide_scratch_by_planes(AveragePoolJob& job, int64_t sum_size) {
    constexpr int64_t kPieceBytes = 4096, kLineBytes = 8192;
    const int64_t line = std::max(job.columns.in, job.columns.out) + job.padding + 2 + 2 * kSlack / sum_size;
    job.line_size = round_to_lines(line * sum_size) / sum_size;
    job.lines = std::clamp<int64_t>(kLineBytes / (job.line_size * sum_size), 1, AveragePoolJob::kMaxLines);
    const int64_t sums = job.plane_scale != nullptr ? job.rows.out * job.columns.out + 2 * kSlack / sum_size : job.lines * job.line_size;
    job.sum_bytes = round_to_lines(sums * sum_size);
    job.row_bytes = round_to_lines(job.columns.in * element_size(job.grad_input.dtype) + kSlack);
    job.rows_per_piece = std::max<int64_t>(1, kPieceBytes / job.row_bytes);
    job.sink_bytes = sink_bytes(std::max(job.row_bytes, kPieceBytes));
}

// The same for adjacent channels: as many columns as the first cache holds sums for, at least all windows of one column.
void divide_scratch_by_channels(AveragePoolJob& job, int64_t sum_size) {
    constexpr int64_t kSumBytes = 16384;
    const int64_t sums = kSumBytes / sum_size;
    const int64_t terms = std::max<int64_t>(1, job.columns.max_windows());
    job.apart = terms == 1 && job.rows.max_windows() <= 1;
    job.tile_channels = std::min(job.grad_input.size[1], std::max<int64_t>(64, sums / terms / 64 * 64));
    job.tile_columns = std::max(terms, sums / job.tile_channels);
    job.sum_bytes = round_to_lines(job.tile_columns * job.tile_channels * sum_size);
}

// Half types take longer to make than to write, and while a sink writes around the caches nothing is made.
bool streams_rows(const AveragePoolJob& job) {
    return !is_half_type(job.grad_input.dtype) && is_large(job.grad_input);
}

// Whether each cell is rounded once and copied around the caches to all places of its window, which pays where these are several. Of small
// cells lines would be put together.
bool streams_cells(const AveragePoolJob& job) {
    constexpr int64_t kMinCellBytes = 512, kMinCopies = 2;
    const View<4>& grad_input = job.grad_input;
    const int64_t cell_bytes = grad_input.size[1] * element_size(grad_input.dtype);
    return job.apart && cell_bytes >= kMinCellBytes && grad_input.bytes() >= kMinCopies * job.grad_output.bytes() &&
           grad_input.is_aligned() && is_large(grad_input);
}

// Small planes of short rows; of longer ones unless there are loops that write rows well: for short steps, and copies of rows. The tables
// grow with the vectors of a plane, and more planes pay for them, the more so where those loops are the alternative to several sums. Cells
// of few channels have no other loop in lanes.
bool suits_flat(const FlatTensors<4>& tensors, const WindowAxis& rows, const RegularWindows& regular) {
    constexpr int64_t kShortRow = 16, kVectors = 3, kMinPlanes = 16, kPlanesPerVectorOfShortSteps = 4;
    constexpr int64_t kMinPlanesOfCells = 8, kNumbersPerPlaneOfCells = 32;
    const int64_t lanes = gather_lanes(), step = regular.step;
    if (lanes == 0) return false;
    if (tensors.inner > 1) return suits_flat_planes(tensors, std::max(kMinPlanesOfCells, tensors.plane_size() / kNumbersPerPlaneOfCells));
    const bool repeats_rows = 2 * rows.run_count() < rows.in(), has_short_step = step == 1 || step == 2;
    const bool slides = step == 1 && regular.kernel > 1;
    const int64_t limit = slides ? std::min(lanes, kShortRow) : repeats_rows || has_short_step ? kShortRow : kVectors * lanes;
    const int64_t planes_per_vector = step > 0 && regular.kernel > step ? kPlanesPerVectorOfShortSteps : 1;
    const int64_t min_planes = std::max(kMinPlanes, planes_per_vector * tensors.plane_size() / lanes);
    return tensors.target.size[3] < limit && suits_flat_planes(tensors, min_planes);
}

// Enough planes: a plan takes as long as some groups. It does not pay where large windows leave copies of few rows; where windows slide
// over rows, which fill vectors, it takes more planes, and not too large ones.
bool suits_transposed(const FlatTensors<4>& tensors, const WindowAxis& rows, const WindowAxis& columns, const RegularWindows& regular) {
    constexpr int64_t kMinPlanes = 32, kNumbersPerPlane = 8, kMaxWindow = 512, kMinSlidingPlanes = 64, kMaxSlidingPlane = 4096;
    constexpr int64_t kShortRowOfCopies = 16;
    constexpr int64_t kTablePlane = 48, kStreamedTablePlane = 64;  // beside wide gathers, where a table copies and adds nothing
    const int64_t size = tensors.plane_size();
    const bool slides = regular.step == 1 && regular.kernel > 1;
    if (size > kMaxWindow * tensors.size_of_plane(tensors.source) || (slides && size > kMaxSlidingPlane)) return false;
    if (!suits_transposed_planes(tensors, std::max(slides ? kMinSlidingPlanes : kMinPlanes, size / kNumbersPerPlane))) return false;
    const bool share_no_cell = !rows.overlap() && !columns.overlap();
    const bool copies = share_no_cell && size == tensors.size_of_plane(tensors.source);
    if (copies && tensors.target.size[3] <= kShortRowOfCopies) return false;
    const int64_t table_plane = tensors.streams() ? kStreamedTablePlane : kTablePlane;
    return !(has_wide_gather() && size <= table_plane && share_no_cell);
}

// Whether full-width windows leave runs so long that filling them one by one takes less than a table of the plane.
bool has_long_runs(const WindowAxis& rows, const WindowAxis& columns) {
    constexpr int64_t kMinRun = 40, kMinRunOfSharedRows = 64;
    const int64_t min_run = rows.has_one_window_each() ? kMinRun : kMinRunOfSharedRows;
    return gather_lanes() == 0 || rows.in() * columns.in() >= min_run * rows.run_count();
}

// Whether there was a loop for the planes as a whole.
bool run_whole_planes(const View<4>& grad_output, const View<4>& grad_input, const WindowAxis& rows, const WindowAxis& columns,
                      const RegularWindows& regular, int thread_count) {
    const FlatTensors<4> tensors = flat_tensors(grad_output, grad_input);
    const bool transposed = suits_transposed(tensors, rows, columns, regular);
    if (!transposed && !suits_flat(tensors, rows, regular)) return false;
    const auto scales = window_scales<float, 2>({&rows, &columns});
    const FlatAxis axes[] = {flat_axis(rows, grad_output.size[2], scales[0]), flat_axis(columns, grad_output.size[3], scales[1])};
    if (transposed)
        TransposedPlanes(tensors, axes).run(thread_count);
    else
        FlatPlanes(tensors, axes).run(thread_count);
    return true;
}

// The job of a call, and the tables that it points to.
template <class S>
class Plan {
   public:
    explicit Plan(Geometry given)
        : scales_(window_scales<S, 2>({&given.rows, &given.columns})),
          by_channel_(channels_last(given.grad_output, given.grad_input)),
          geometry_(std::move(given)) {
        if (geometry_.inner > 1) scales_[1] = repeat_each(scales_[1], geometry_.inner);
        const bool whole_planes = !by_channel_ && geometry_.inner == 1 && scales_[0].empty() && takes_whole_planes(geometry_);
        if (whole_planes) geometry_ = merge_channels(std::move(geometry_));
        for (int64_t o = 0; whole_planes && o < geometry_.grad_output.size[2]; ++o)
            plane_scale_.insert(plane_scale_.end(), scales_[1].begin(), scales_[1].end());
        job_ = make_job();
    }
    // The job points into the plan.
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;

    void run(int thread_count) const {
        AveragePoolLoop* const loop = by_channel_ ? TORCH_ACLNN_LOOP(average_pool_channels) : TORCH_ACLNN_LOOP(average_pool_planes);
        const int64_t channels = job_.grad_input.size[1];
        const int64_t row_count = job_.grad_input.size[0] * (by_channel_ ? 1 : channels) * job_.rows.in;
        const int64_t bytes = job_.sum_bytes + job_.row_bytes + job_.sink_bytes;
        constexpr int64_t kCostOfRow = 32;  // which adds to that of its elements
        const int64_t cost = kCostOfRow + kCostOfSum * job_.columns.in * (by_channel_ ? channels : 1);
        parallel_for(row_count, cost, thread_count, [&](int64_t begin, int64_t end) {
            Scratch scratch(bytes);
            loop(job_, begin, end, scratch.data());
        });
    }

   private:
    AveragePoolJob make_job() {
        AveragePoolJob job{};
        job.grad_output = geometry_.grad_output;
        job.grad_input = geometry_.grad_input;
        job.rows = geometry_.rows.table(job.grad_output.size[2], data_or_null(scales_[0]));
        job.columns = geometry_.columns.table(job.grad_output.size[3], scales_[1].data());
        job.step = geometry_.regular.step;
        job.kernel = geometry_.regular.kernel;
        job.padding = geometry_.regular.padding * geometry_.inner;
        job.inner = geometry_.inner;
        job.columns.in *= job.inner;
        // Neither steps between cells have a loop, nor windows that begin before the zeros in front of the sums.
        if (job.inner > 1 && (job.step > 1 || (job.kernel - 1) * job.inner * static_cast<int64_t>(sizeof(S)) > kSlack)) job.step = 0;
        if (!by_channel_ && job.step == 0)
            column_sums_ = plan_columns<S>(geometry_.columns, job.grad_output.size[3] / job.inner, job.inner,
                                           job.grad_input.size[0] * job.grad_input.size[1] * geometry_.rows.in());
        job.column_sums = column_sums_.table();
        job.plane_scale = data_or_null(plane_scale_);
        const auto divide_scratch = by_channel_ ? divide_scratch_by_channels : divide_scratch_by_planes;
        divide_scratch(job, sizeof(S));
        job.stream = by_channel_ ? streams_cells(job) : streams_rows(job);
        return job;
    }

    static const S* data_or_null(const std::vector<S>& values) { return values.empty() ? nullptr : values.data(); }

    std::array<std::vector<S>, 2> scales_;  // of rows and columns
    bool by_channel_;
    Geometry geometry_;
    std::vector<S> plane_scale_;
    GatherPlan column_sums_;
    AveragePoolJob job_{};
};

}  // namespace

void average_pool_backward(const View<4>& grad_output, const View<4>& grad_input, WindowAxis rows, WindowAxis columns,
                           RegularWindows regular, int thread_count) {
    if (grad_input.empty()) return;
    rows.find_runs();
    columns.find_runs();
    regular = worthwhile(regular);
    const bool full_width = suits_full_width(grad_input, rows, columns);
    if (full_width && has_long_runs(rows, columns)) return full_width_backward(grad_output, grad_input, rows, columns, thread_count);
    if (run_whole_planes(grad_output, grad_input, rows, columns, regular, thread_count)) return;
    if (full_width) return full_width_backward(grad_output, grad_input, rows, columns, thread_count);
    Geometry geometry = join_channels(join_rows({grad_output, grad_input, std::move(rows), std::move(columns), regular}));
    if (grad_input.dtype == DType::float64)
        Plan<double>(std::move(geometry)).run(thread_count);
    else
        Plan<float>(std::move(geometry)).run(thread_count);
}

}  // namespace torch_aclnn::kernels
