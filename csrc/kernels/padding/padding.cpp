#include "kernels/padding/padding.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "kernels/flat_planes/flat_planes.h"
#include "kernels/flat_planes/gather_columns.h"
#include "kernels/padding/job.h"
#include "kernels/support/cache.h"
#include "kernels/support/parallel.h"
#include "kernels/support/scratch.h"
#include "kernels/transposed_planes/transposed_planes.h"

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

SourceTable table(const SourceAxis& axis) {
    SourceTable table{axis.in(), axis.out(), axis.begin(), axis.source(), 0, 0};
    const auto continues = [&](int64_t begin, int64_t i) {
        return table.begin[i + 1] - table.begin[i] == 1 && table.source[table.begin[i]] == table.source[table.begin[begin]] + i - begin;
    };
    for (int64_t begin = 0, end; begin < table.in; begin = end) {
        end = begin + 1;
        if (table.begin[begin + 1] - table.begin[begin] != 1) continue;
        while (end < table.in && continues(begin, end)) ++end;
        if (end - begin > table.copy_end - table.copy_begin) table.copy_begin = begin, table.copy_end = end;
    }
    return table;
}

PaddingJob plan(const View<5>& grad_output, const View<5>& grad_input, const SourceAxis& columns) {
    PaddingJob job{};
    job.grad_output = as_real(grad_output);
    job.grad_input = as_real(grad_input);
    job.columns = table(columns);
    job.inner = is_complex(grad_input.dtype) ? 2 : 1;
    if (job.grad_output.stride[1] == job.inner && channels_innermost(job.grad_input, job.inner)) {  // adjacent channels become one cell
        job.inner *= grad_input.size[1];
        job.grad_input.size[1] = job.grad_output.size[1] = 1;
    }
    const int64_t row_size = std::max(job.columns.in, job.columns.out) * job.inner;
    job.sum_bytes = round_to_lines(row_size * static_cast<int64_t>(sizeof(double)) + kSlack);
    job.row_bytes = round_to_lines(row_size * element_size(job.grad_input.dtype) + kSlack);
    job.sink_bytes = sink_bytes(std::max(job.inner, PaddingJob::kBlock) * element_size(job.grad_input.dtype));
    // Beside a large grad_output little of a smaller result would stay in the caches. Wide cells go around them as they are computed, which
    // pays sooner. Others are collected first, and half types take longer to make than to write: while a sink writes around the caches
    // nothing is made.
    const bool is_wide = job.inner > 1, is_read_from_memory = exceeds_share_of_cache(grad_output);
    const bool leaves_caches = is_large(grad_input) || (is_large(grad_output) && exceeds_share_of_cache(grad_input));
    const bool pays = is_wide ? leaves_caches || is_read_from_memory : leaves_caches && !is_half_type(grad_input.dtype);
    job.stream = pays && job.grad_input.is_aligned();
    job.prefetch = is_wide && is_read_from_memory;
    return job;
}

int64_t most_terms(const SourceAxis& axis) {
    int64_t terms = 0;
    for (int64_t i = 0; i < axis.in(); ++i) terms = std::max(terms, axis.begin()[i + 1] - axis.begin()[i]);
    return terms;
}

// How many indices are sums of several.
int64_t sum_count(const SourceAxis& axis) {
    int64_t count = 0;
    for (int64_t i = 0; i < axis.in(); ++i) count += axis.begin()[i + 1] - axis.begin()[i] > 1 ? 1 : 0;
    return count;
}

// As many are worth a table of rows.
constexpr int64_t kManySums = 4;

// Small planes of short rows, of which the ends take longer than the rest; at a border not too many cells meet. The tables grow with the
// vectors of a plane and with the cells that meet, and more planes pay for them.
bool suits_flat(const FlatTensors<4>& tensors, const SourceAxis& rows, const SourceAxis& columns) {
    constexpr int64_t kVectors = 2, kVectorsOfManySums = 3;
    constexpr int64_t kMaxTerms = 9, kFewTerms = 3, kMinPlanes = 16, kMinPlanesOfFewTerms = 8;
    if (!suits_flat_planes(tensors, kMinPlanesOfFewTerms)) return false;  // as of one plane, which has no time for a look at its axes
    const int64_t lanes = gather_lanes(), terms = std::max(most_terms(rows), most_terms(columns));
    const int64_t vectors = sum_count(columns) >= kManySums ? kVectorsOfManySums : kVectors;
    if (lanes == 0 || tensors.target.size[3] * tensors.inner >= vectors * lanes || terms > kMaxTerms) return false;
    const int64_t min_planes = terms <= kFewTerms ? kMinPlanesOfFewTerms : kMinPlanes;
    return suits_flat_planes(tensors, std::max(min_planes, tensors.plane_size() / lanes));
}

// Enough planes: a plan takes as long as some groups. Long rows of which few numbers are sums have a faster loop beside wide gathers, which
// are those of AVX-512.
bool suits_transposed(const FlatTensors<4>& tensors, const SourceAxis& columns) {
    constexpr int64_t kMinPlanes = 12, kNumbersPerPlane = 16, kLongRowBytes = 176;
    const bool is_long = columns.in() * element_size(tensors.target.dtype) >= kLongRowBytes;
    if (is_long && sum_count(columns) < kManySums && has_wide_gather()) return false;
    return suits_transposed_planes(tensors, std::max(kMinPlanes, tensors.plane_size() / kNumbersPerPlane));
}

FlatAxis flat_axis(const SourceAxis& axis) {
    return {axis.in(), axis.out(), axis.begin(), axis.begin() + 1, axis.source(), nullptr};
}

// A table for short rows, if so many of their numbers are added up at the ends that it takes less time, and if there are enough rows to pay
// for it; else an empty plan.
GatherPlan plan_sums_of_columns(const PaddingJob& job, const SourceAxis& columns, int64_t row_count) {
    constexpr int64_t kMaxVectors = 4, kMinRows = 128, kMaxInner = 3;
    const int64_t lanes = gather_lanes(), readable = columns.out() * job.inner;
    if (row_count < kMinRows || sum_count(columns) < kManySums || !has_float_sums(job.grad_input.dtype)) return {};
    if (columns.in() * job.inner > kMaxVectors * lanes || readable < lanes || job.inner > kMaxInner) return {};
    return row_plan(flat_axis(columns), job.inner, readable);
}

// Where the rows of an axis begin in a volume of grad_output.
std::vector<int64_t> row_offsets(const SourceAxis& rows, const View<5>& grad_output) {
    const int64_t height = grad_output.size[3];
    std::vector<int64_t> offsets(rows.begin()[rows.in()]);
    std::transform(rows.source(), rows.source() + offsets.size(), offsets.begin(), [&](int64_t row) {
        return grad_output.size[2] == 1 ? row * grad_output.stride[3]
                                        : row / height * grad_output.stride[2] + row % height * grad_output.stride[3];
    });
    return offsets;
}

// The rows of all depths as those of one plane, if they lie so.
std::optional<View<4>> with_rows_of_volumes(const View<5>& view) {
    if (view.size[2] != 1 && view.stride[2] != view.size[3] * view.stride[3]) return std::nullopt;
    View<4> planes = without_depth(view);
    planes.size[2] *= view.size[2];
    return planes;
}

// Whether there was a loop for the planes as a whole.
bool run_whole_planes(const View<5>& grad_output, const View<5>& grad_input, const SourceAxis& rows, const SourceAxis& columns,
                      int thread_count) {
    const auto source = with_rows_of_volumes(grad_output), target = with_rows_of_volumes(grad_input);
    if (!source || !target) return false;
    const FlatTensors<4> tensors = flat_tensors(*source, *target);
    const FlatAxis axes[] = {flat_axis(rows), flat_axis(columns)};
    if (suits_transposed(tensors, columns))
        TransposedPlanes(tensors, axes).run(thread_count);
    else if (suits_flat(tensors, rows, columns))
        FlatPlanes(tensors, axes).run(thread_count);
    else
        return false;
    return true;
}

}  // namespace

void padding_backward(const View<5>& grad_output, const View<5>& grad_input, const SourceAxis& rows, const SourceAxis& columns,
                      int thread_count) {
    if (run_whole_planes(grad_output, grad_input, rows, columns, thread_count)) return;
    PaddingJob job = plan(grad_output, grad_input, columns);
    const std::vector<int64_t> offsets = row_offsets(rows, job.grad_output);
    job.row_begin = rows.begin();
    job.row_source = offsets.data();
    const int64_t row_count = job.grad_input.size[0] * job.grad_input.size[1] * rows.in();
    const GatherPlan column_sums = plan_sums_of_columns(job, columns, row_count);
    job.column_sums = column_sums.table();
    job.widens = job.grad_input.dtype != DType::float32 && column_sums.has_far_terms();
    const int64_t row_size = std::max(job.columns.in, job.columns.out) * job.inner;
    const int64_t bytes = job.sum_bytes + 2 * job.row_bytes + job.sink_bytes;
    constexpr int64_t kCostOfRow = 64;  // of its ends, which are sums
    // Of rows that are copied beside borders of single numbers, 64 bytes at a time are slower than 32, unless they go around the caches. A
    // table is of the machine's lanes.
    constexpr int64_t kFewNumbers = 8;
    const bool is_narrow = job.inner < kFewNumbers && !job.stream && job.column_sums.blocks == 0;
    PaddingLoop* const loop = TORCH_ACLNN_LOOP_FOR(is_narrow ? isa_up_to(Isa::avx2) : isa(), padding);
    parallel_for(row_count, kCostOfRow + row_size, thread_count, [&](int64_t begin, int64_t end) {
        Scratch scratch(bytes);
        loop(job, begin, end, scratch.data());
    });
}

}  // namespace torch_aclnn::kernels
