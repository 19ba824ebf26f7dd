#include "kernels/average_pool.h"

#include <algorithm>

#include "kernels/parallel.h"
#include "kernels/scratch.h"

namespace torch_aclnn::kernels {
namespace {

constexpr int64_t kLargestPlane = 4096;  // windows whose sums fit in the first cache

// One division per row and column instead of one per cell. Where all rows agree, theirs goes into the columns', to be rounded once.
template <class S>
struct Reciprocals {
    std::vector<S> rows, columns;

    Reciprocals(const std::vector<int64_t>& row_divisors, const std::vector<int64_t>& column_divisors) {
        const bool same_rows = std::all_of(row_divisors.begin(), row_divisors.end(), [&](int64_t d) { return d == row_divisors.front(); });
        const double common = same_rows && !row_divisors.empty() ? static_cast<double>(row_divisors.front()) : 1;
        if (!same_rows) rows = reciprocals(row_divisors, 1);
        columns = reciprocals(column_divisors, common);
    }

    static std::vector<S> reciprocals(const std::vector<int64_t>& divisors, double common) {
        std::vector<S> result(divisors.size());
        for (size_t o = 0; o < divisors.size(); ++o) result[o] = static_cast<S>(1 / (common * static_cast<double>(divisors[o])));
        return result;
    }
};

// Adjacent channels in both tensors, and not at the same time adjacent columns.
bool channels_last(const AveragePoolJob& job) {
    constexpr int64_t kFewestChannels = 4;  // fewer do not fill the lanes
    const View<4>&out = job.grad_output, &in = job.grad_input;
    return in.size[1] >= kFewestChannels && out.stride[1] == 1 && channels_innermost(in);
}

// If one window holds the whole plane, its rows are one long row.
bool collapse_plane(AveragePoolJob& job, WindowAxis& rows, WindowAxis& columns) {
    constexpr int64_t kLongestRow = 2048;
    const int64_t height = job.rows.in, width = job.columns.in;
    const View<4>& in = job.grad_input;
    if (rows.run_end[0] != height || columns.run_end[0] != width || height * width > kLongestRow) return false;
    if (height == 1 || in.stride[3] != 1 || in.stride[2] != width) return false;
    const auto stretch = [](WindowAxis& axis, int64_t in) {
        axis.first.assign(in, axis.first.front());
        axis.last.assign(in, axis.last.front());
        axis.find_runs();
    };
    stretch(rows, 1);
    stretch(columns, height * width);
    return true;
}

void plan_columns(AveragePoolJob& job, const RegularWindows& regular) {
    constexpr int64_t kMostTerms = 16, kLongestStep = 3;
    const bool worth = regular.step > 0 && regular.step <= kLongestStep && (regular.kernel - 1) / regular.step < kMostTerms;
    job.step = worth ? regular.step : 0;
    job.kernel = regular.kernel;
    job.padding = regular.padding;
}

// True if each row lies in exactly one window and no column reads beyond the sums of its row.
bool takes_whole_planes(const AveragePoolJob& job) {
    const View<4>& out = job.grad_output;
    const bool dense = out.stride[3] == 1 && out.stride[2] == out.size[3] && out.size[2] * out.size[3] <= kLargestPlane;
    if (!dense || job.rows.scale != nullptr) return false;
    if (job.step > 0 && (job.kernel > job.step || job.columns.out * job.step < job.columns.in + job.padding)) return false;
    for (int64_t h = 0; h < job.rows.in; h = job.rows.run_end[h])
        if (job.rows.last[h] - job.rows.first[h] != 1) return false;
    return true;
}

// Takes several dense planes for one of more rows.
void merge_channels(AveragePoolJob& job, WindowAxis& rows) {
    View<4>&out = job.grad_output, &in = job.grad_input;
    const int64_t row_count = job.rows.in, window_count = job.rows.out, plane = window_count * job.columns.out;
    const int64_t row_stride = row_count == 1 ? in.stride[1] : in.stride[2];
    if (out.stride[1] != plane || in.stride[1] != row_stride * row_count) return;
    int64_t group = std::min(in.size[1], kLargestPlane / plane);
    while (in.size[1] % group != 0) --group;
    WindowAxis merged(row_count * group, window_count * group);
    for (int64_t h = 0; h < row_count * group; ++h) {
        merged.first[h] = rows.first[h % row_count] + h / row_count * window_count;
        merged.last[h] = rows.last[h % row_count] + h / row_count * window_count;
    }
    merged.find_runs();
    rows = std::move(merged);
    for (View<4>* view : {&out, &in}) {
        view->size[1] /= group;
        view->stride[1] *= group;
    }
    in.stride[2] = row_stride;
    job.rows = rows.table(window_count * group, nullptr);
}

// The parts of the scratch memory for adjacent columns.
int64_t plan_planes(AveragePoolJob& job, int64_t sum_size) {
    constexpr int64_t kPieceBytes = 4096, kLineBytes = 8192;
    const int64_t line = std::max(job.columns.in, job.columns.out) + job.padding + 2 + 2 * kSlack / sum_size;
    job.line_size = round_to_lines(line * sum_size) / sum_size;
    job.lines = std::clamp<int64_t>(kLineBytes / (job.line_size * sum_size), 1, AveragePoolJob::kMostLines);
    const int64_t sums = job.plane_scale != nullptr ? job.rows.out * job.columns.out + 2 * kSlack / sum_size : job.lines * job.line_size;
    job.sum_bytes = round_to_lines(sums * sum_size);
    job.row_bytes = round_to_lines(job.columns.in * element_size(job.grad_input.dtype) + kSlack);
    job.rows_per_piece = std::max<int64_t>(1, kPieceBytes / job.row_bytes);
    job.sink_bytes = sink_bytes(std::max(job.row_bytes, kPieceBytes));
    return job.sum_bytes + job.row_bytes + job.sink_bytes;
}

// The same for adjacent channels: as many columns as the first cache holds sums for, at least all windows of one column.
int64_t plan_channels(AveragePoolJob& job, int64_t sum_size) {
    constexpr int64_t kSumBytes = 16384;
    const int64_t sums = kSumBytes / sum_size;
    int64_t most_terms = 1;
    for (int64_t w = 0; w < job.columns.in; ++w) most_terms = std::max(most_terms, job.columns.last[w] - job.columns.first[w]);
    job.tile_channels = std::min(job.grad_input.size[1], std::max<int64_t>(64, sums / most_terms / 64 * 64));
    job.tile_columns = std::max(most_terms, sums / job.tile_channels);
    job.sum_bytes = round_to_lines(job.tile_columns * job.tile_channels * sum_size);
    job.sink_bytes = sink_bytes((job.tile_channels + AveragePoolJob::kBlock) * element_size(job.grad_input.dtype));
    return job.sum_bytes + job.sink_bytes;
}

template <class S>
void run(AveragePoolJob& job, WindowAxis& rows, WindowAxis& columns, const RegularWindows& regular, int thread_count) {
    const Reciprocals<S> scale(rows.divisor, columns.divisor);
    rows.find_runs();
    columns.find_runs();
    job.rows = rows.table(job.grad_output.size[2], scale.rows.empty() ? nullptr : scale.rows.data());
    job.columns = columns.table(job.grad_output.size[3], scale.columns.data());
    plan_columns(job, regular);
    const bool by_channel = channels_last(job) && loops().average_pool_channels != nullptr;
    if (!by_channel && collapse_plane(job, rows, columns)) {
        job.rows = rows.table(job.grad_output.size[2], job.rows.scale);
        job.columns = columns.table(job.grad_output.size[3], job.columns.scale);
        job.step = 0;
    }
    std::vector<S> plane_scale;
    if (!by_channel && takes_whole_planes(job)) {
        merge_channels(job, rows);
        plane_scale.reserve(job.rows.out * job.columns.out);
        for (int64_t o = 0; o < job.rows.out; ++o) plane_scale.insert(plane_scale.end(), scale.columns.begin(), scale.columns.end());
        job.plane_scale = plane_scale.data();
    }
    const int64_t bytes = by_channel ? plan_channels(job, sizeof(S)) : plan_planes(job, sizeof(S));
    const auto loop = by_channel ? loops().average_pool_channels : loops().average_pool_planes;
    const int64_t channels = job.grad_input.size[1];
    const int64_t row_count = job.grad_input.size[0] * (by_channel ? 1 : channels) * job.rows.in;
    parallel_for(row_count, job.columns.in * (by_channel ? channels : 1), thread_count, [&](int64_t begin, int64_t end) {
        Scratch scratch(bytes);
        loop(job, begin, end, scratch.data());
    });
}

}  // namespace

void average_pool_backward(const View<4>& grad_output, const View<4>& grad_input, WindowAxis& rows, WindowAxis& columns,
                           RegularWindows regular, int thread_count) {
    if (grad_input.empty()) return;
    AveragePoolJob job{};
    job.grad_output = grad_output;
    job.grad_input = grad_input;
    job.stream = is_large(grad_input);
    const auto run_in = grad_input.dtype == DType::float64 ? run<double> : run<float>;
    run_in(job, rows, columns, regular, thread_count);
}

}  // namespace torch_aclnn::kernels
