#include "kernels/max_unpool_backward/max_unpool_backward.h"

#include <mutex>

#include "kernels/max_unpool_backward/job.h"
#include "kernels/support/cache.h"
#include "kernels/support/parallel.h"
#include "kernels/support/scratch.h"

namespace torch_aclnn::kernels {
namespace {

// Keeps the smallest position of a bad index, so that the report does not depend on the number of threads.
class SmallestBad {
   public:
    void add(const FirstBad& bad) {
        if (bad.linear < 0) return;
        const std::lock_guard<std::mutex> lock(mutex_);
        if (smallest_.linear < 0 || bad.linear < smallest_.linear) smallest_ = bad;
    }
    std::optional<BadIndex> get(const int64_t size[5]) const {
        if (smallest_.linear < 0) return std::nullopt;
        BadIndex bad;
        int64_t linear = smallest_.linear;
        for (int d = 4; d >= 0; linear /= size[d--]) bad.position[d] = linear % size[d];
        bad.index = smallest_.index;
        return bad;
    }

   private:
    std::mutex mutex_;
    FirstBad smallest_{-1, 0};
};

// The stride between neighbours of a flattened plane, or 0 if there is no single one.
int64_t flat_stride(const View<5>& view) {
    const int64_t column = view.stride[4], row = view.size[3] == 1 ? column * view.size[4] : view.stride[3];
    const bool rows_follow = view.size[3] == 1 || row == column * view.size[4];
    const bool planes_follow = view.size[2] == 1 || view.stride[2] == row * view.size[3];
    return rows_follow && planes_follow ? column : 0;
}

// From this number of elements on, the tables that join short rows pay.
constexpr int64_t kManyElements = 2048;

// A short row costs more than elements that are not adjacent.
bool rows_are_channels(const View<5>& grad_output, const View<5>& indices) {
    constexpr int64_t kMinChannels = 16;
    if (!channels_innermost(indices)) return false;
    return indices.size[1] >= kMinChannels || (channels_innermost(grad_output) && indices.element_count() >= kManyElements);
}

// Whether threads that take rows of channels, and few of them each, write into the same cache lines of a result of short planes.
bool threads_would_share_lines(const View<5>& out, int thread_count) {
    constexpr int64_t kShortPlaneBytes = 8 * kCacheLine;
    const int64_t plane_bytes = out.bytes() / (out.size[0] * out.size[1]);
    return !channels_innermost(out) && out.size[0] < thread_count && plane_bytes <= kShortPlaneBytes;
}

// Whether cache lines hold so many channels that reading by channel would read each line again for each.
bool prefers_channels_together(const View<5>& grad_output) {
    constexpr int64_t kSecondCacheBytes = 262144;  // the second cache of most machines has this size or more
    return channels_innermost(grad_output) && grad_output.bytes() / grad_output.size[0] > kSecondCacheBytes;
}

// Whether the elements of grad_output that the indices name come from memory rather than from a cache, so that prefetching them pays. Few
// indices touch little of grad_output.
bool are_read_from_memory(const View<5>& grad_output, const View<5>& indices) {
    return 2 * (grad_output.bytes() + indices.bytes()) > last_cache_bytes();
}

// Whether elements follow each other in the order of the loop, without gaps.
bool is_dense(const LoopOperand& operand, const Loop& loop) {
    int64_t distance = 1;
    for (int d = loop.rank - 1; d >= 0; distance *= loop.size[d--])
        if (operand.stride[d] != distance) return false;
    return true;
}

// With `by_channel`, rows run over channels.
MaxUnpoolJob plan(const View<5>& grad_output, const View<5>& indices, const View<5>& out, bool by_channel) {
    MaxUnpoolJob job{};
    job.loop.rank = 5;
    job.element_size = element_size(out.dtype);
    job.indices = {indices.data, indices.dtype, {}};
    job.out = {out.data, out.dtype, {}};
    job.plane = {grad_output.data, grad_output.dtype, {}};
    int64_t linear = 1;
    for (int d = 4; d >= 0; linear *= out.size[d--]) {
        job.loop.size[d] = out.size[d];
        job.indices.stride[d] = indices.stride[d];
        job.out.stride[d] = out.stride[d];
        job.plane.stride[d] = d < 2 ? grad_output.stride[d] : 0;
        job.logical_stride[d] = linear;
    }
    job.plane_size = grad_output.size[2] * grad_output.size[3] * grad_output.size[4];
    job.element_stride = flat_stride(grad_output);
    job.plane_height = grad_output.size[3];
    job.plane_width = grad_output.size[4];
    std::copy_n(grad_output.stride + 2, 3, job.plane_stride);
    const bool is_flat = job.element_stride != 0;
    // The hardware prefetches by itself what is picked from one depth after the other.
    const bool prefetches = is_flat && are_read_from_memory(grad_output, indices);
    job.prefetch_planes = prefetches;
    job.prefetch_elements = prefetches && grad_output.size[2] != out.size[2];

    const std::initializer_list<int64_t*> strides{job.indices.stride, job.out.stride, job.plane.stride, job.logical_stride};
    if (by_channel || prefers_channels_together(grad_output)) move_to_end(job.loop, strides, 1);
    if (!by_channel && prefers_channels_together(grad_output))  // all channels at one depth before the next
        for (int i = 0; i < 2; ++i) move_to_end(job.loop, strides, 2);
    simplify(job.loop, strides);
    const int64_t row_size = job.loop.size[job.loop.rank - 1];
    const bool has_rows_of_channels = by_channel && job.loop.rank > 1 && is_dense(job.indices, job.loop);
    job.joins_rows = has_rows_of_channels && is_flat && row_size <= MaxUnpoolJob::kMaxJoined && element_count(job.loop) >= kManyElements;
    if (prefetches && has_rows_of_channels) job.rows_ahead = (MaxUnpoolJob::kAhead + row_size - 1) / row_size;
    return job;
}

void advance(LoopOperand& operand, int64_t elements, int64_t size) {
    operand.data = static_cast<char*>(operand.data) + elements * size;
}

// Returns the job of the elements [begin, end) of each row.
MaxUnpoolJob part_of_rows(MaxUnpoolJob job, int64_t begin, int64_t end) {
    const int row = job.loop.rank - 1;
    job.loop.size[row] = end - begin;
    advance(job.indices, begin * job.indices.stride[row], sizeof(int64_t));
    advance(job.out, begin * job.out.stride[row], job.element_size);
    advance(job.plane, begin * job.plane.stride[row], job.element_size);
    return job;
}

}  // namespace

std::optional<BadIndex> max_unpool_backward(const View<5>& grad_output, const View<5>& indices, const View<5>& out, int thread_count) {
    if (out.empty()) return std::nullopt;
    const bool by_channel = rows_are_channels(grad_output, indices);
    const MaxUnpoolJob job = plan(grad_output, indices, out, by_channel);
    MaxUnpoolLoop* const loop = TORCH_ACLNN_LOOP(max_unpool);
    SmallestBad bad;
    const int64_t count = element_count(job.loop), row_size = job.loop.size[job.loop.rank - 1];
    if (by_channel && threads_would_share_lines(out, thread_count))
        parallel_for(row_size, kCostOfGather * (count / row_size), thread_count, [&](int64_t begin, int64_t end) {
            const MaxUnpoolJob part = part_of_rows(job, begin, end);
            FirstBad found = loop(part, 0, element_count(part.loop));
            if (found.linear >= 0) found.linear += begin * job.logical_stride[job.loop.rank - 1];
            bad.add(found);
        });
    else
        parallel_for(count, kCostOfGather, thread_count, [&](int64_t begin, int64_t end) { bad.add(loop(job, begin, end)); });
    return bad.get(out.size);
}

}  // namespace torch_aclnn::kernels
