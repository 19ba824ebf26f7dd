#include "engine/aten/sparse_attention/multiple_sequences.h"

namespace torch_aclnn::host::aten {

static at::Tensor heads_first(const at::Tensor& tensor, int64_t heads) {
    const at::Tensor first = upcast(tensor).transpose(0, 1);
    return first.size(0) == heads ? first : first.repeat_interleave(heads / first.size(0), 0);
}

static void require_lengths(const char* name, const OptTensor& lengths, bool needed, int64_t count) {
    if (needed && !given(lengths)) refuse_null(name, "for a layout that is not BSND");
    if (given(lengths) && (lengths->dim() != 1 || (count >= 0 && lengths->size(0) != count)))
        refuse(name, count < 0 ? "1 dimension" : c10::str("the shape [", count, "]"), shape_text(lengths->sizes()));
}

static TokenSpan span(std::string_view layout, const OptTensor& lengths, int64_t i, int64_t whole) {
    if (!given(lengths)) return {i, 0, whole};
    const int64_t length = lengths->select(0, i).item<int64_t>();
    if (layout != "TND") return {i, 0, length};
    const int64_t first = i == 0 ? 0 : lengths->select(0, i - 1).item<int64_t>();
    return {i, first, length - first};
}
static void check_lengths(const char* name, const OptTensor& lengths, std::string_view layout, int64_t whole) {
    if (!given(lengths)) return;
    require_range(name, *lengths, 0, whole + 1);
    if (layout == "TND") require_range(name, at::diff(*lengths), 0, whole + 1);
}

void TokenSequences::require(const NamedShape& query, const NamedShape& key) const {
    const auto require_rank = [](const NamedShape& shape, std::string_view layout) {
        if (shape.sizes.size() != (layout == "TND" ? 3 : 4))
            refuse(shape.name, c10::str("the dimensions ", layout), shape_text(shape.sizes));
    };
    require_rank(query, query_layout);
    require_rank(key, key_layout);
    if (key_layout != "PA_BSND" && key_layout != query_layout)
        refuse("layoutQuery", c10::str(key_layout, ", as the keys have"), std::string(query_layout));
    const bool batched = query_layout == "BSND";
    require_lengths(query_name, query_lengths, !batched, batched ? query.sizes[0] : -1);
    const int64_t count = batched ? query.sizes[0] : query_lengths->size(0);
    require_lengths(key_name, key_lengths, key_layout != "BSND", count);
    if (key_layout == "BSND" && key.sizes[0] != count)
        refuse(key.name, c10::str(count, " sequences, as ", query.name, " has"), shape_text(key.sizes));
    if (key_layout == "PA_BSND" && (!given(pages) || pages->dim() != 2 || pages->size(0) != count || key.sizes[1] == 0))
        refuse("blockTable", c10::str("2 dimensions, with a row for each of ", count), given(pages) ? shape_text(pages->sizes()) : "none");
    const size_t last = query.sizes.size() - 1, key_last = key.sizes.size() - 1;
    if (key.sizes[key_last] != query.sizes[last])
        refuse(key.name, c10::str(query.sizes[last], " features, as ", query.name, " has"), shape_text(key.sizes));
    const int64_t heads = query.sizes[last - 1], key_heads = key.sizes[key_last - 1];
    if (key_heads == 0 || heads % key_heads != 0)
        refuse(key.name, c10::str("heads that divide the ", heads, " of ", query.name), shape_text(key.sizes));
}

void TokenSequences::for_each(const at::Tensor& query, const at::Tensor& key,
                              const std::function<void(const TokenSpan&, const TokenSpan&)>& use) const {
    const bool packed = query_layout == "TND", paged = key_layout == "PA_BSND";
    const int64_t rows = query.size(packed ? 0 : 1);
    const int64_t columns = paged ? pages->size(1) * key.size(1) : key.size(key_layout == "TND" ? 0 : 1);
    check_lengths(query_name, query_lengths, query_layout, rows);
    check_lengths(key_name, key_lengths, key_layout, columns);
    const int64_t count = packed ? query_lengths->size(0) : query.size(0);
    for (int64_t i = 0; i < count; i++) {
        const TokenSpan of_query = span(query_layout, query_lengths, i, rows), of_key = span(key_layout, key_lengths, i, columns);
        if (of_query.length > 0 && of_key.length > 0) use(of_query, of_key);
    }
}

at::Tensor TokenSequences::of_query(const at::Tensor& tensor, const TokenSpan& span) const {
    return (query_layout == "TND" ? tensor : tensor.select(0, span.batch)).narrow(0, span.first, span.length);
}
at::Tensor TokenSequences::of_key(const at::Tensor& tensor, const TokenSpan& span) const {
    if (key_layout == "TND") return tensor.narrow(0, span.first, span.length);
    if (key_layout == "BSND") return tensor.select(0, span.batch).narrow(0, 0, span.length);
    const int64_t block = tensor.size(1), count = (span.length + block - 1) / block;
    const at::Tensor own = pages->select(0, span.batch).narrow(0, 0, count);
    require_indices("blockTable", own, tensor.size(0));
    return tensor.index_select(0, own.to(at::kLong)).flatten(0, 1).narrow(0, 0, span.length);
}

Expected like_queries(const at::Tensor& query, int64_t heads, int64_t features) {
    return with_size(with_size(query.sizes(), -2, heads).sizes, -1, features);
}
Expected with_last(const at::Tensor& tensor, const OptTensor& rope) {
    return with_size(tensor.sizes(), -1, given(rope) ? size_of(*rope, -1) : 0);
}
void require_rope(const OptTensor& query, const OptTensor& key) {
    if (given(query) != given(key)) refuse("keyRope", "a tensor if and only if there is queryRope", given(key) ? "one" : "none");
}
Expected by_key_head(const at::Tensor& query, const at::Tensor& key) {
    Expected expected = of_key_head(query, key);
    expected.sizes.push_back(query.size(-2) / key.size(-2));
    return expected;
}
Expected of_key_head(const at::Tensor& query, const at::Tensor& key) {
    if (query.dim() == 3) return shape({key.size(-2), query.size(0)});
    return shape({query.size(0), key.size(-2), query.size(1)});
}
at::Tensor chosen_columns(const char* name, const at::Tensor& indices, int64_t block, int64_t columns) {
    const int64_t blocks = (columns + block - 1) / block;
    const at::Tensor ended = indices.lt(0).to(at::kInt).cumsum(2).gt(0), kept = indices.to(at::kLong).masked_fill(ended, blocks);
    require_indices(name, kept, blocks + 1);
    at::Tensor chosen = at::zeros({indices.size(1), indices.size(0), blocks + 1}, at::kBool);
    chosen.scatter_(2, kept.transpose(0, 1), true);
    return chosen.narrow(2, 0, blocks).repeat_interleave(block, 2).narrow(2, 0, columns);
}

AllowedAttention::AllowedAttention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const at::Tensor& allowed,
                                   double scale, const OptTensor& sink)
    : query(upcast(query).transpose(0, 1)),
      key(heads_first(key, query.size(1))),
      value(heads_first(value, query.size(1))),
      key_heads(key.size(1)),
      scale(scale) {
    const at::Tensor whole =
        allowed.dim() == 3 && allowed.size(0) > 1 ? allowed.repeat_interleave(query.size(1) / allowed.size(0), 0) : allowed;
    const at::Tensor scores = (at::matmul(this->query, this->key.transpose(1, 2)) * scale).masked_fill(whole.logical_not(), -kInfinity);
    maximum = scores.amax(2, true);
    if (sink) maximum = at::maximum(maximum, upcast(*sink).view({-1, 1, 1}));
    const at::Tensor from = maximum.masked_fill(maximum.eq(-kInfinity), 0), powers = at::exp(scores - from);
    sum = powers.sum(2, true);
    if (sink) sum = sum + at::exp(upcast(*sink).view({-1, 1, 1}) - from);
    probabilities = powers / sum.masked_fill(sum.eq(0), 1);  // a row that sees no key has no probabilities
}

AllowedAttention::Gradients AllowedAttention::backward(const at::Tensor& grad) const {
    const at::Tensor of_result = upcast(grad).transpose(0, 1), of_probabilities = at::matmul(of_result, value.transpose(1, 2));
    const at::Tensor mean = (of_probabilities * probabilities).sum(2, true);
    const at::Tensor of_scores = (of_probabilities - mean) * probabilities * scale;
    const auto of_key_heads = [&](const at::Tensor& tensor) {
        return tensor.unflatten(0, at::IntArrayRef{key_heads, -1}).sum(1).transpose(0, 1);
    };
    return {at::matmul(of_scores, key).transpose(0, 1), of_key_heads(at::matmul(of_scores.transpose(1, 2), query)),
            of_key_heads(at::matmul(probabilities.transpose(1, 2), of_result))};
}

int64_t read_causal_mode(const char* name, int64_t mode) {
    if (mode != 0 && mode != 3) refuse(name, "0 or 3", std::to_string(mode));
    return mode;
}

}  // namespace torch_aclnn::host::aten
