#include "engine/collectives/reduction.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "engine/collectives/tensors.h"
#include "engine/runtime/stream/computing_thread.h"

namespace torch_aclnn::host {
namespace {

// The number of elements of each block that are sent together, while those before them are reduced. A message costs some changes of thread,
// so they are many.
constexpr int64_t kSegment = 1 << 20;
// The number of elements of each block that are reduced together, so that intermediate results stay in the cache.
constexpr int64_t kChunk = 1 << 14;

at::Tensor part(const at::Tensor& block, int64_t index, int64_t length) {
    const int64_t begin = std::min(index * length, block.numel());
    return block.narrow(0, begin, std::min(length, block.numel() - begin));
}

Blocks parts(const Blocks& blocks, int64_t index, int64_t length) {
    Blocks chosen;
    for (const auto& block : blocks) chosen.push_back(part(block, index, length));
    return chosen;
}

int64_t count_of_parts(const Blocks& blocks, int64_t length) {
    int64_t longest = 0;
    for (const auto& block : blocks) longest = std::max(longest, block.numel());
    return (longest + length - 1) / length;
}

void combine(const at::Tensor& one, const at::Tensor& other, HcclReduceOp op, at::Tensor& reduced) {
    switch (op) {
        case HCCL_REDUCE_PROD: at::mul_out(reduced, one, other); break;
        case HCCL_REDUCE_MAX: at::maximum_out(reduced, one, other); break;
        case HCCL_REDUCE_MIN: at::minimum_out(reduced, one, other); break;
        default: at::add_out(reduced, one, other);
    }
}

// ATen computes sums of two half tensors in float32 and rounds once, without tensors of float32.
bool are_two_of_floating_point(const Blocks& blocks) {
    return blocks.size() == 2 && at::isFloatingType(blocks[0].scalar_type());
}

void reduce_blocks(const Blocks& blocks, at::Tensor& result, HcclReduceOp op) {
    (void)at::get_num_threads();  // the first call in a thread sets the number
    OneThread::renew();
    if (are_two_of_floating_point(blocks)) return combine(blocks[0], blocks[1], op, result);
    for (int64_t i = 0; i * kChunk < result.numel(); ++i) {
        const Blocks operands = parts(blocks, i, kChunk);
        at::Tensor reduced = to_computed(operands[0], op);
        for (size_t rank = 1; rank < operands.size(); ++rank) combine(reduced, as_computed(operands[rank], op), op, reduced);
        from_computed(reduced, part(result, i, kChunk), op);
    }
}

// One segment of the blocks that the ranks send to this one.
class Segment {
   public:
    Segment(c10d::Backend& backend, const Blocks& sent, const at::Tensor& result, int64_t index)
        : result_(part(result, index, kSegment)), blocks_(parts(sent, index, kSegment)) {
        const Blocks given = blocks_;
        for (int rank = 0; rank < backend.getSize(); ++rank)
            if (rank != backend.getRank()) blocks_[static_cast<size_t>(rank)] = at::empty_like(result_);
        works_ = start_exchange(backend, given, blocks_);
    }

    void reduce(c10d::Backend& backend, HcclReduceOp op) {
        wait_for(backend, works_);
        reduce_blocks(blocks_, result_, op);
    }

   private:
    at::Tensor result_;
    Blocks blocks_;
    Works works_;
};

void reduce_segments(c10d::Backend& backend, const Blocks& sent, const at::Tensor& result, HcclReduceOp op,
                     const std::function<void(int64_t)>& reduced) {
    const int64_t segments = count_of_parts(sent, kSegment);
    if (segments == 0) return;
    Segment next(backend, sent, result, 0);
    for (int64_t i = 0; i < segments; ++i) {
        Segment segment = std::move(next);
        if (i + 1 < segments) next = Segment(backend, sent, result, i + 1);
        segment.reduce(backend, op);
        reduced(i);
    }
}

}  // namespace

void reduce_scatter_blocks(c10d::Backend& backend, const Blocks& sent, const at::Tensor& result, HcclReduceOp op) {
    reduce_segments(backend, sent, result, op, [](int64_t) {});
}

void all_reduce_all_at_once(c10d::Backend& backend, const at::Tensor& elements, HcclReduceOp op) {
    const Blocks blocks(static_cast<size_t>(backend.getSize()), elements);
    reduce_scatter_blocks(backend, blocks, elements, op);
}

void all_reduce_in_parts(c10d::Backend& backend, const at::Tensor& elements, HcclReduceOp op) {
    // Each rank reduces one block, and gives it to the others: what comes in place of a block has been made of it, so that it is sent
    // already.
    const Blocks blocks = elements.tensor_split(backend.getSize());
    const at::Tensor& own = blocks[static_cast<size_t>(backend.getRank())];
    Works given;
    reduce_segments(backend, blocks, own, op, [&](int64_t i) {
        const Works works = start_exchange(backend, Blocks(blocks.size(), part(own, i, kSegment)), parts(blocks, i, kSegment));
        given.insert(given.end(), works.begin(), works.end());
    });
    wait_for(backend, given);
}

}  // namespace torch_aclnn::host
