// Sequences of queries and of keys: of a batch with room for the longest (BSND), below each other (TND), or keys in the pages of a cache
// that a table names (PA_BSND). Lengths are those of each sequence, or where each ends if they lie below each other.
#pragma once

#include "engine/aten/adapter/adapter.h"

namespace torch_aclnn::host::aten {

struct TokenSpan {
    int64_t batch, first, length;
};

struct TokenSequences {
    std::string_view query_layout, key_layout;
    OptTensor query_lengths, key_lengths, pages;
    const char *query_name, *key_name;  // names of the parameters with the lengths

    // 161002 unless queries and keys of these shapes fit together and to the lengths; a key has the query's features.
    void require(const NamedShape& query, const NamedShape& key) const;

    // Calls `use` with the places of a sequence's queries and keys. Lengths and pages that lead nowhere are refused before.
    void for_each(const at::Tensor& query, const at::Tensor& key,
                  const std::function<void(const TokenSpan& query, const TokenSpan& key)>& use) const;

    // Returns a sequence's part of a tensor, {positions, heads, ...}: a view of the queries; of keys in pages, a copy.
    at::Tensor of_query(const at::Tensor& tensor, const TokenSpan& span) const;
    at::Tensor of_key(const at::Tensor& tensor, const TokenSpan& span) const;
    // Returns a view {key heads, positions, ...} of numbers that have the shape of by_key_head() or of_key_head().
    at::Tensor by_head(const at::Tensor& numbers, const TokenSpan& query) const {
        return (query_layout == "TND" ? numbers : numbers.select(0, query.batch)).narrow(1, query.first, query.length);
    }
};

// Lengths come as an array; an empty one means that none are given.
inline OptTensor lengths_tensor(const OptNumbers& lengths) {
    return lengths && !lengths->empty() ? std::optional(at::tensor(*lengths, at::kLong)) : std::nullopt;
}

Expected like_queries(const at::Tensor& query, int64_t heads, int64_t features);
// Returns a tensor's shape, where its last dimension also has the features of `rope`, a part of queries and keys that may be absent.
Expected with_last(const at::Tensor& tensor, const OptTensor& rope);
void require_rope(const OptTensor& query, const OptTensor& key);
// The shape of a number for each token, each head of the keys and each head of the query that shares it, {batch, key heads, positions,
// heads}, or without the batch; and the same without the last dimension.
Expected by_key_head(const at::Tensor& query, const at::Tensor& key);
Expected of_key_head(const at::Tensor& query, const at::Tensor& key);

// Returns which of {rows, columns} a token may see: those up to its own, counted from the last.
inline at::Tensor seen(int64_t rows, int64_t columns) {
    return (at::arange(columns) - at::arange(rows).unsqueeze(1)).le(columns - rows);
}
// Returns which of {key heads, rows, columns} the indices {rows, key heads, count} name, as blocks of columns. The first negative one ends
// a row.
at::Tensor chosen_columns(const char* name, const at::Tensor& indices, int64_t block, int64_t columns);

// Attention of one sequence, of {rows, heads, features} and {columns, key heads, features}, to what is allowed of {heads, rows, columns}.
struct AllowedAttention {
    at::Tensor query, key, value;  // {heads, positions, features}
    int64_t key_heads;
    double scale;
    at::Tensor maximum, sum, probabilities;  // {heads, rows, 1} and {heads, rows, columns}

    AllowedAttention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const at::Tensor& allowed, double scale,
                     const OptTensor& sink = std::nullopt);
    at::Tensor result() const { return at::matmul(probabilities, value).transpose(0, 1); }

    struct Gradients {
        at::Tensor query, key, value;  // with the shapes of the arguments
    };
    Gradients backward(const at::Tensor& grad) const;
};

int64_t read_causal_mode(const char* name, int64_t mode);

namespace kind {
using CausalMode = Kind<int64_t, int64_t, int64_t, read_causal_mode>;  // 0: all keys; 3: those that `seen` has
using NoDistance = Between<int64_t, 1 << 16, kUnbounded>;              // how far a token sees: all; MindSpeed-LLM's number is the least
}  // namespace kind

}  // namespace torch_aclnn::host::aten
