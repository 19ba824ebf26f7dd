// What native sparse attention has in training and in inference: blocks of keys that are compressed to one key each, and those blocks of
// the keys that get the most of the attention to them.
#pragma once

#include "engine/aten/sparse_attention/multiple_sequences.h"

namespace torch_aclnn::host::aten {

struct Blocks {
    int64_t size, stride;
    int64_t count(int64_t positions) const { return positions < size ? 0 : (positions - size) / stride + 1; }
    // Returns views of {positions, heads, features}, as {blocks, heads, features, size}.
    at::Tensor of(const at::Tensor& x) const { return x.unfold(0, size, stride); }
};

Blocks compressed_blocks(const auto& a) {
    return {a.compressBlockSize, a.compressStride};
}

// CANN's documents list 64 selected positions alone.
inline void require_selectable(const Blocks& compressed, int64_t selected) {
    constexpr int64_t kLargest = 4096;
    if (selected > kLargest) refuse("selectBlockSize", c10::str("at most ", kLargest), c10::str(selected));
    if (compressed.stride > compressed.size)
        refuse("compressStride", c10::str("at most compressBlockSize, ", compressed.size), c10::str(compressed.stride));
    if (selected < compressed.size || selected % compressed.stride != 0)
        refuse("selectBlockSize", c10::str("a multiple of ", compressed.stride, " that is at least ", compressed.size), c10::str(selected));
}

// What a block of the keys gets of the attention to compressed blocks, {key heads, rows, blocks}: of those that it begins behind or in.
// It begins at an end less a step and a part, and some of them have the same sum. There are as many blocks as reach to the last column.
inline at::Tensor importance(const at::Tensor& probabilities, int64_t key_heads, int64_t blocks, const Blocks& compressed,
                             int64_t selected) {
    const at::Tensor shares = probabilities.unflatten(0, at::IntArrayRef{key_heads, -1}).sum(1);
    const int64_t columns = shares.size(2), steps = selected / compressed.stride, parts = compressed.size / compressed.stride;
    const at::Tensor ends = (at::arange(blocks) + 1) * steps;
    const int64_t last = steps + std::min(parts - 2, (blocks - 1) * steps);
    at::Tensor sum = at::zeros({key_heads, shares.size(1), blocks});
    for (int64_t before = std::max<int64_t>(0, steps - columns + 1); before <= last; before++) {
        const int64_t pairs = std::min(before, steps - 1) - std::max<int64_t>(0, before - parts + 1) + 1;
        const at::Tensor from = ends - before, there = from.ge(0).logical_and(from.lt(columns));
        sum += shares.index_select(2, from.clamp(0, columns - 1)).masked_fill(there.logical_not(), 0) * pairs;
    }
    return sum;
}
// Writes the places of the largest of each row, and -1 where there are no more.
inline void write_largest(const at::Tensor& scores, const at::Tensor& places) {
    const int64_t count = std::min(places.size(2), scores.size(2));
    places.fill_(-1);
    const at::Tensor order = std::get<1>(at::sort(scores, true, 2, true));
    places.narrow(2, 0, count).copy_(order.narrow(2, 0, count).transpose(0, 1));
}

// Attention to the blocks of keys that the indices name. A mask means that a token sees its own place and those before.
struct SelectedAttention {
    const at::Tensor &query, &key, &value, &places;
    const OptTensor& mask;
    int64_t block;
    double scale;

    AllowedAttention of(const TokenSequences& s, const TokenSpan& q, const TokenSpan& k) const {
        at::Tensor allowed = chosen_columns("topkIndices", s.of_query(places, q), block, k.length);
        if (mask) allowed = allowed.logical_and((at::arange(k.length) - at::arange(q.length).unsqueeze(1)).le(0));
        return {s.of_query(query, q), s.of_key(key, k), s.of_key(value, k), allowed, scale};
    }
};

}  // namespace torch_aclnn::host::aten
