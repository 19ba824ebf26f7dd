// What is done between two steps of generation: the tokens that were drawn become the next input, and caches take new rows.

#include "vocabulary/kv_cache/decoding_calls.h"

namespace {

// One step as of vLLM's advance_step, which gives each request its next token, the position and the length up to it, and a slot in the
// blocks of the request.
struct Step {
    at::Tensor &tokens, &positions, &lengths, &slots;
    const at::Tensor& blocks;
    int64_t block_size;

    // The shape of a tensor with `each` tokens for each request, which are the rows of the blocks.
    Expected of_requests(int64_t requests, int64_t each) const {
        if (blocks.dim() != 2 || blocks.size(0) != requests)
            refuse("blockTables", c10::str("2 dimensions, the first of ", requests), shape_text(blocks.sizes()));
        int64_t count = 0;
        if (__builtin_mul_overflow(requests, each, &count)) refuse("numSeqs", "a number of tokens below 2^63", c10::str(requests));
        return shape({count});
    }
    void advance_to(int64_t first, const at::Tensor& next, const at::Tensor& at_positions, const at::Tensor& requests) {
        const at::Tensor columns = at::floor_divide(at_positions, block_size);
        require_indices("blockTables", columns, blocks.size(1));
        const auto put = [&](at::Tensor& all, const at::Tensor& new_ones) { all.narrow(0, first, new_ones.size(0)).copy_(new_ones); };
        put(tokens, next);
        put(positions, at_positions);
        put(lengths, at_positions + 1);
        put(slots, blocks.index({requests, columns}) * block_size + at_positions.remainder(block_size));
    }
    // Requests behind those that were asked for are padding.
    void advance(const at::Tensor& sampled, int64_t queries) {
        advance_to(0, sampled.reshape({-1}), lengths.narrow(0, 0, queries).clone(), at::arange(queries));
        for (at::Tensor* padded : {&tokens, &positions, &slots}) padded->slice(0, queries).fill_(padded == &slots ? -1 : 0);
    }
    // Each request goes on from the last token that was accepted, which is the one in front of the first -1, with the tokens speculated
    // next.
    void advance(const at::Tensor& sampled, const at::Tensor& speculated, const at::Tensor& accepted) {
        const int64_t requests = sampled.size(0), each = speculated.size(1) + 1;
        const at::Tensor ended = at::cat({sampled, at::full({requests, 1}, -1, sampled.options())}, 1);
        const at::Tensor last = ended.argmin(1, true) - 1;
        require_indices("sampledTokenIds", last, sampled.size(1));
        const at::Tensor next = at::cat({sampled.gather(1, last), speculated}, 1).reshape({-1});
        const at::Tensor moved = positions + accepted.repeat_interleave(each) + 1;
        advance_to(0, next, moved, at::arange(requests).repeat_interleave(each));
    }
};

// Each tensor of the list gets a part of the updates at a position of its own along the axis, which counts from the end.
at::DimVector parts(at::TensorList list, const at::Tensor& updates, int64_t axis) {
    require_between("axis", axis, -list[0].dim(), -1);
    at::DimVector expected = with_size(list[0].sizes(), axis, updates.dim() == list[0].dim() + 1 ? updates.size(axis) : 1).sizes;
    require_between("updates", expected[from_front(axis, list[0].dim())], 0, list[0].size(axis));
    for (const at::Tensor& tensor : list) require_same_shape({"varRef", tensor}, {"varRef", list[0]});
    expected.insert(expected.begin(), static_cast<int64_t>(list.size()));
    return expected;
}

}  // namespace

static Step decoding_step(const auto& a) {
    return {a.inputTokens, a.inputPositions, a.seqLens, a.slotMapping, a.blockTables, a.blockSize};
}

static void compute(const call::ScatterList& a) {
    const int64_t length = a.updates.size(a.axis);
    require_indices("indice", a.indice, a.varRef[0].size(a.axis) - length + 1);
    const at::Tensor places = a.indice.to(at::kLong);
    for (int64_t i = 0; i < static_cast<int64_t>(a.varRef.size()); i++)
        if (!a.maskOptional || (*a.maskOptional)[i].item().toDouble() != 0)
            a.varRef[i].narrow(a.axis, places[i].item<int64_t>(), length).copy_(a.updates[i]);
}
