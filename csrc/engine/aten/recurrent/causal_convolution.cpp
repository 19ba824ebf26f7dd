// Convolutions of each channel with the last positions of its own sequence.

#include <algorithm>

#include "vocabulary/recurrent/causal_convolution_calls.h"

namespace {

// Convolves {positions + width - 1, ..., channels} with weights of {width, channels}.
at::Tensor convolved(const at::Tensor& padded, const at::Tensor& weight) {
    const int64_t width = weight.size(0), positions = padded.size(0) - width + 1;
    at::Tensor sum = at::zeros_like(padded.narrow(0, 0, positions));
    for (int64_t k = 0; k < width; k++) sum.addcmul_(padded.narrow(0, k, positions), weight[k]);
    return sum;
}
at::Tensor with_zeros(const at::Tensor& x, int64_t before, int64_t behind) {
    return at::constant_pad_nd(upcast(x), {0, 0, 0, 0, before, behind});
}
// Where the mask {batch, positions} is false, the positions {positions, batch, channels} count as zero.
at::Tensor masked_positions(const at::Tensor& x, const OptTensor& mask) {
    return mask ? x.masked_fill(mask->to(at::kBool).t().unsqueeze(2).logical_not(), 0) : x;
}

// The cache of positions of each sequence: its rows are the cache's lines that the indices name. With blocks, a sequence has
// a line for each block of positions, of which each ends with the positions before the next block.
struct CachedConvolution {
    const call::FusedCausalConv1d& a;
    const at::Tensor &weight = a.weight, &states = a.convStatesRef;
    const OptTensor &starts = a.queryStartLoc, &lines = a.cacheIndices, &accepted = a.numAcceptedTokens, &computed = a.numComputedTokens;
    const OptTensor &first_block = a.blockIdxFirstScheduledToken, &last_block = a.blockIdxLastScheduledToken, &initial = a.initialStateIdx;
    int64_t block_size = a.blockSize;

    int64_t of(const OptTensor& values, int64_t i) const { return values->select(0, i).item<int64_t>(); }
    int64_t line(int64_t sequence, const OptTensor& block) const {
        if (!lines) return sequence;
        const at::Tensor own = lines->select(0, sequence);
        return (block ? own[of(block, sequence)] : own).item<int64_t>();
    }

    void check(int64_t tokens) const {
        if (starts) require_range("queryStartLoc", *starts, 0, tokens + 1);
        if (starts) require_range("queryStartLoc", at::diff(*starts), 0, tokens + 1);
        if (lines) require_range("cacheIndices", lines->masked_fill(lines->eq(a.padSlotId), 0), 0, states.size(0));
        if (!last_block) return;
        for (const OptTensor* block : {&first_block, &last_block, &initial}) require_range("cacheIndices", **block, 0, lines->size(1));
        require_range("blockIdxFirstScheduledToken", *last_block - *first_block, 0, lines->size(1));
    }

    // Returns the result of one sequence; the cache gets its last positions.
    at::Tensor of_sequence(int64_t i, const at::Tensor& x) const {
        const int64_t before = weight.size(0) - 1, kept = states.size(1), length = x.size(0);
        const int64_t read = line(i, initial), written = line(i, last_block);
        if (lines && read == a.padSlotId) return at::zeros_like(x);
        int64_t offset = accepted ? of(accepted, i) - 1 : kept - before;
        if (computed && of(computed, i) == 0) offset = 0;
        if (accepted) require_range("numAcceptedTokens", accepted->select(0, i), 1, kept - before + 2);
        const bool fresh = computed && of(computed, i) == 0;
        const at::Tensor past = fresh ? at::zeros({before, x.size(1)}, x.options()) : states[read].narrow(0, 0, offset + before);
        const at::Tensor all = at::cat({past, x}, 0);
        const int64_t count = std::min(kept, all.size(0));
        states[written].narrow(0, kept - count, count).copy_(all.narrow(0, all.size(0) - count, count));
        const at::Tensor padded = all.narrow(0, offset, before + length);
        if (last_block) fill_blocks(i, padded, length);
        at::Tensor y = convolved(upcast(padded), upcast(weight));
        if (a.convMode == 1) y.narrow(0, 0, std::clamp<int64_t>(before - of(computed, i), 0, length)).zero_();
        return a.residualConnection == 1 ? y + upcast(x) : y;
    }
    // Fills the lines of the blocks that are full.
    void fill_blocks(int64_t i, const at::Tensor& padded, int64_t length) const {
        const int64_t before = weight.size(0) - 1, first = of(first_block, i), blocks = of(last_block, i) - first;
        const int64_t open = block_size - of(computed, i) % block_size, behind = ((length - open) % block_size + block_size) % block_size;
        const int64_t last_end = length - behind - (behind == 0 ? block_size : 0);
        for (int64_t block = 0; block < blocks; block++) {
            const int64_t end = last_end - (blocks - block - 1) * block_size;
            if (end < 0) refuse("blockIdxLastScheduledToken", "a block of the tokens", c10::str(of(last_block, i)));
            const int64_t place = lines->select(0, i)[first + block].item<int64_t>();
            states[place].narrow(0, states.size(1) - before, before).copy_(padded.narrow(0, end, before));
        }
    }

    void run(const at::Tensor& x, const at::Tensor& y) const {
        const at::Tensor in = x.dim() == 3 ? x.reshape({-1, x.size(2)}) : x;
        check(in.size(0));
        const int64_t sequences = starts ? starts->numel() - 1 : x.size(0);
        at::Tensor out = at::zeros(in.sizes(), upcast(in).options());
        for (int64_t i = 0; i < sequences; i++) {
            const int64_t first = starts ? of(starts, i) : i * x.size(1), end = starts ? of(starts, i + 1) : first + x.size(1);
            out.narrow(0, first, end - first).copy_(of_sequence(i, in.narrow(0, first, end - first)));
        }
        y.copy_(out.reshape(y.sizes()));
    }
};

void require_cached(const char* name, const at::Tensor& x, const CachedConvolution& of) {
    const at::Tensor &weight = of.weight, &states = of.states;
    if (x.dim() != 2 && x.dim() != 3) refuse(name, "2 or 3 dimensions", shape_text(x.sizes()));
    if (weight.dim() != 2 || weight.size(0) == 0 || weight.size(1) != x.size(-1))
        refuse("weight", c10::str("2 dimensions, the second of ", x.size(-1)), shape_text(weight.sizes()));
    if (states.dim() != 3 || states.size(1) < weight.size(0) - 1 || states.size(2) != x.size(-1))
        refuse("convStatesRef", c10::str("3 dimensions, with room for ", weight.size(0) - 1, " positions of ", x.size(-1)),
               shape_text(states.sizes()));
    if (x.dim() == 2 && !of.starts) refuse_null("queryStartLoc", "where x has 2 dimensions");
    const bool blocks = of.lines && of.lines->dim() == 2;
    if (blocks && !(of.first_block && of.last_block && of.initial)) refuse("cacheIndices", "1 dimension without blocks", "2");
    if (!blocks && (of.first_block || of.last_block || of.initial)) refuse("cacheIndices", "2 dimensions, as there are blocks", "others");
    if ((blocks || of.a.convMode == 1) && !of.computed) refuse_null("numComputedTokens", "with blocks, or convMode 1");
}

Expected of_sequences(const at::Tensor& x, const OptTensor& starts) {
    return shape({starts && starts->dim() == 1 ? starts->size(0) - 1 : x.size(0)});
}

}  // namespace

static void compute(const call::MaskedCausalConv1dBackward& a) {
    const int64_t before = a.weight.size(0) - 1;
    const at::Tensor grad = masked_positions(upcast(a.gradOutput), a.mask), padded = with_zeros(a.input, before, 0);
    write(a.gradInput, convolved(with_zeros(grad, 0, before), upcast(a.weight).flip(0)));
    for (int64_t k = 0; k <= before; k++) a.gradWeight[k].copy_((grad * padded.narrow(0, k, grad.size(0))).sum(at::IntArrayRef({0, 1})));
}

static void check(const call::FusedCausalConv1d& a) {
    const bool in_place = a.xRef.defined();
    require_cached(in_place ? "xRef" : "x", in_place ? a.xRef : a.x, {a});
}
static void compute(const call::FusedCausalConv1d& a) {
    const bool in_place = a.xRef.defined();
    CachedConvolution{a}.run(in_place ? a.xRef : a.x, in_place ? a.xRef : a.y);
}
