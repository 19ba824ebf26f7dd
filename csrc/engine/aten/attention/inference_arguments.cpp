// What the arguments of attention of inference are, and whether they fit together.

#include "engine/aten/attention/attention_arguments.h"
#include "engine/aten/attention/inference_attention.h"
#include "engine/runtime/config/config.h"

namespace torch_aclnn::host::aten {
namespace {

int64_t length_of(const std::vector<int64_t>& lengths, int64_t i) {
    return lengths.size() == 1 ? lengths[0] : lengths.at(i);
}

// Where the i-th sequence is: its length, or between the ends of the one before and its own.
SequencePlace place_of(const OptNumbers& lengths, bool packed, int64_t i, int64_t whole) {
    if (!lengths || lengths->empty()) return {i, 0, whole};
    if (!packed) return {i, 0, length_of(*lengths, i)};
    const int64_t first = i == 0 ? 0 : (*lengths)[i - 1];
    return {i, first, (*lengths)[i] - first};
}

// Refuses a tensor that has fewer rows or columns than the scores of a sequence, or another number of heads.
void require_scores(const char* name, const at::Tensor& tensor, const InferenceAttention& a, int64_t batch, int64_t heads) {
    int64_t rows = 0, columns = 0;
    for (int64_t i = 0; i < batch; i++) {
        const auto [query, key] = a.sequence(i);
        rows = std::max(rows, query.length);
        columns = std::max(columns, key.length);
    }
    if (tensor.dim() != 4 || (tensor.size(0) != 1 && tensor.size(0) != batch) || tensor.size(1) != heads || tensor.size(2) < rows ||
        tensor.size(3) < columns)
        refuse(name, c10::str("1 or ", batch, " times ", heads, " matrices of at least ", rows, " x ", columns),
               shape_text(tensor.sizes()));
}

// A mask is for all heads, has at least the rows and columns of each sequence's scores, and in modes 2 to 4 a fixed size.
void require_mask(const InferenceAttention& a, int64_t batch) {
    if (!given(a.mask)) {
        if (a.sparse_mode > 1 && !a.is_single()) refuse_null("attenMask", kTriangle);
        return;
    }
    if (a.sparse_mode > 1) {
        if (!is_triangle(a.mask->sizes())) refuse("attenMask", kTriangle, shape_text(a.mask->sizes()));
        return;
    }
    require_scores("attenMask", a.mask_of_batch(), a, batch, 1);
}

// The result's scale is one for all, or one for each head and feature.
void require_quantisation(const InferenceAttention& a) {
    const Expected out = inferred(a);
    const size_t features = a.out_layout().find('D');
    const int64_t each = features == std::string_view::npos ? out.sizes.back() : a.heads * out.sizes[features];
    const auto check = [&](const char* name, const OptTensor& values) {
        if (given(values) && values->numel() != 1 && values->numel() != each)
            refuse(name, c10::str("1 value or ", each, ", one for each head and feature"), shape_text(values->sizes()));
    };
    check("quantScale2", a.quant_scale);
    if (given(a.quant_scale)) check("quantOffset2", a.quant_offset);
}

void require_lengths(const char* name, const OptNumbers& lengths, bool ends, int64_t batch, int64_t whole) {
    if (!lengths || lengths->empty()) {
        if (ends) refuse_null(name, "the ends of the sequences, as the layout has a T");
        return;
    }
    if (!ends && lengths->size() != 1 && static_cast<int64_t>(lengths->size()) < batch)
        refuse(name, c10::str("1 value or ", batch), std::to_string(lengths->size()));
    if (ends && static_cast<int64_t>(lengths->size()) != batch) refuse(name, c10::str(batch, " values"), std::to_string(lengths->size()));
    const bool rising = std::is_sorted(lengths->begin(), lengths->end());
    for (const int64_t length : *lengths)
        if (length < 0 || length > whole || (ends && !rising))
            refuse(name, c10::str(ends ? "rising numbers" : "numbers", " from 0 to ", whole), c10::str(at::IntArrayRef(*lengths)));
}

void require_rank(const char* name, const at::Tensor& tensor, std::string_view layout) {
    if (tensor.dim() != static_cast<int64_t>(layout.size())) refuse(name, c10::str("the dimensions ", layout), shape_text(tensor.sizes()));
}

int64_t value_features(const InferenceAttention& a) {
    const at::Tensor& value = a.values[0];
    const bool joined = given(a.pages) ? value.dim() == 3 : a.query_layout().back() == 'H';
    if (joined) return value.size(2) / a.heads_of_key();
    return value.dim() == 5 ? value.size(2) * value.size(4) : value.size(-1);
}

// Ascend910B accepts only some head sizes for packed sequences, as users of vllm-ascend found.
void require_features(const InferenceAttention& a) {
    const int64_t of_query = a.query_layout().back() == 'H' ? a.query.size(2) / a.heads : a.query.size(-1), of_value = value_features(a);
    const bool is_taken =
        (of_query == of_value && (of_query == 64 || of_query == 128)) || (of_query == 192 && (of_value == 128 || of_value == 192));
    if (a.is_packed() && !given(a.query_rope) && !is_taken)
        refuse(ACLNN_ERR_INNER_TILING_ERROR, "query", "heads of 64, 128 or 192 features as value has, or of 192 where value has 128",
               c10::str(of_query, " and ", of_value));
    if (config().strict && std::max(of_query, of_value) > 512)
        refuse("query", "heads of at most 512 features, as TORCH_ACLNN_HOST_MODE=strict asks",
               std::to_string(std::max(of_query, of_value)));
}

int64_t size_of(const InferenceAttention& a, char letter) {
    switch (letter) {
        case 'B': return a.batch_size();
        case 'N': return a.heads;
        case 'D': return value_features(a);
        case 'H': return a.heads * value_features(a);
        case 'T': return a.query.size(static_cast<int64_t>(a.query_layout().find('T')));
        default: return a.positions(a.query);
    }
}

// Keys and values have the batch's sequences and the key's heads; a key has the query's features.
void require_plain_keys(const InferenceAttention& a, int64_t batch) {
    const std::string_view layout = a.query_layout();
    for (const at::Tensor& key : a.keys) require_rank("key", key, layout);
    for (const at::Tensor& value : a.values) require_rank("value", value, layout);
    const auto dim = [&](char letter) { return layout.find(letter); };
    const int64_t features = layout.back() == 'H' ? a.query.size(2) / a.heads * a.heads_of_key() : a.query.size(-1);
    for (size_t i = 0; i < a.keys.size(); i++) {
        Expected key = shaped_like(a.keys[i]);
        if (dim('B') != layout.npos) key.sizes[dim('B')] = a.keys.size() > 1 ? 1 : batch;
        if (dim('N') != layout.npos) key.sizes[dim('N')] = a.heads_of_key();
        key.sizes.back() = features;
        require_expected("key", a.keys[i], key);
        key.sizes.back() = a.values[i].size(-1);
        require_expected("value", a.values[i], key);
    }
    require_lengths(a.key_lengths_name, a.key_lengths, a.is_packed(), batch, a.positions(a.keys[0]));
}

void require_pages(const InferenceAttention& a, int64_t batch) {
    if (a.pages->dim() != 2 || a.pages->size(0) < batch)
        refuse("blockTable", c10::str("2 dimensions, with a row for each of ", batch), shape_text(a.pages->sizes()));
    for (const auto& [name, cache] : {std::pair("key", a.keys[0]), std::pair("value", a.values[0])})
        if (cache.dim() < 3 || cache.dim() > 5 || positions_of_block(cache) == 0)
            refuse(name, "a cache of 3, 4 or 5 dimensions with positions in each block", shape_text(cache.sizes()));
    if (!a.key_lengths || a.key_lengths->empty()) refuse_null(a.key_lengths_name, "the lengths, as there is a blockTable");
    require_lengths(a.key_lengths_name, a.key_lengths, false, batch, kUnbounded);
}

}  // namespace

int64_t positions_of_block(const at::Tensor& cache) {
    return cache.size(cache.dim() == 3 ? 1 : cache.dim() == 4 ? 2 : 3);
}

int64_t InferenceAttention::batch_size() const {
    if (is_packed()) return query_lengths ? static_cast<int64_t>(query_lengths->size()) : 0;
    return query_layout() == "NSD" ? 1 : query.size(0);
}

int64_t InferenceAttention::positions(const at::Tensor& tensor) const {
    if (query_layout() == "TND") return tensor.size(0);
    return tensor.size(query_layout() == "BNSD" ? 2 : 1);
}

bool InferenceAttention::is_single() const {
    return !is_packed() && positions(query) == 1;
}

const OptNumbers& InferenceAttention::lengths_of_queries() const {
    static const OptNumbers none;
    return is_single() ? none : query_lengths;
}

InferenceSequence InferenceAttention::sequence(int64_t i) const {
    const int64_t columns = given(pages) ? 0 : positions(keys[keys.size() > 1 ? i : 0]);
    return {place_of(lengths_of_queries(), is_packed(), i, positions(query)),
            place_of(key_lengths, is_packed() && !given(pages), i, columns)};
}

at::Tensor InferenceAttention::mask_of_batch() const {
    if (mask->dim() == 3) return mask->unsqueeze(1);
    if (mask->dim() != 2) return *mask;
    return is_single() && mask->size(0) == batch_size() ? mask->unsqueeze(1).unsqueeze(1) : mask->unsqueeze(0).unsqueeze(0);
}

Expected inferred(const InferenceAttention& a) {
    Expected expected{at::IntArrayRef()};
    for (const char letter : a.out_layout()) expected.sizes.push_back(size_of(a, letter));
    if (!given(a.quant_scale)) expected.type = a.query.scalar_type();
    return expected;
}

Expected inferred_lse(const InferenceAttention& a) {
    if (a.is_packed()) return shape({size_of(a, 'T'), a.heads, 1});
    return shape({size_of(a, 'B'), a.heads, size_of(a, 'S'), 1});
}

void require_inference_attention(const InferenceAttention& a) {
    require_rank("query", a.query, a.query_layout());
    if (a.keys.empty()) refuse("key", "at least one tensor", "none");
    if (a.keys.size() != a.values.size()) refuse("value", c10::str(a.keys.size(), " tensors, as key has"), std::to_string(a.values.size()));
    if (a.heads_of_key() < 0 || a.heads_of_key() > a.heads || a.heads % a.heads_of_key() != 0)
        refuse("numKeyValueHeads", c10::str("a divisor of numHeads, ", a.heads), std::to_string(a.key_heads));
    const size_t place = a.query_layout().find('N');
    if (place == std::string_view::npos ? a.query.size(2) % a.heads != 0 : a.query.size(place) != a.heads)
        refuse("query", c10::str(a.heads, " heads"), shape_text(a.query.sizes()));
    const int64_t batch = a.batch_size();
    if (a.keys.size() > 1 && static_cast<int64_t>(a.keys.size()) != batch)
        refuse("key", c10::str("1 tensor or ", batch), std::to_string(a.keys.size()));
    require_lengths("actualSeqLengths", a.lengths_of_queries(), a.is_packed(), batch, a.positions(a.query));
    if (given(a.query_rope) != given(a.key_rope))
        refuse("keyRope", "a tensor if and only if there is queryRope", given(a.key_rope) ? "one" : "none");
    if (given(a.pages))
        require_pages(a, batch);
    else
        require_plain_keys(a, batch);
    require_features(a);
    require_mask(a, batch);
    if (given(a.shift)) require_scores("pseShift", *a.shift, a, batch, a.heads);
    // Rope has the dimensions of the query or the key, with features of its own. Pages have several forms.
    if (given(a.query_rope)) require_expected("queryRope", *a.query_rope, with_size(a.query.sizes(), -1, kAny));
    if (given(a.query_rope) && !given(a.pages)) require_expected("keyRope", *a.key_rope, with_size(a.keys[0].sizes(), -1, kAny));
    require_quantisation(a);
}

}  // namespace torch_aclnn::host::aten
