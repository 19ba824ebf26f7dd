#include "engine/aten/attention/inference_attention.h"

#include <algorithm>

#include "engine/aten/attention/attention_arguments.h"
#include "engine/aten/numerics/indices.h"
#include "engine/aten/quantization/packed_integers.h"
#include "engine/runtime/config/config.h"

namespace torch_aclnn::host::aten {
namespace {

// Where a sequence lies in a tensor: which of a batch, or which rows of all tokens.
struct Place {
    int64_t batch, first, length;
};

// One sequence of a tensor, as {heads, positions, features}. A view, into which a result can be written.
at::Tensor sequence(const at::Tensor& tensor, std::string_view layout, int64_t heads, const Place& place) {
    const auto rows = [&](const at::Tensor& t) { return t.narrow(1, place.first, place.length); };
    if (layout == "TND") return rows(tensor.transpose(0, 1));
    if (layout == "NTD" || layout == "NSD") return rows(tensor);
    if (layout == "NBSD") return rows(tensor.select(1, place.batch));
    const at::Tensor own = tensor.select(0, place.batch);
    if (layout == "BNSD") return rows(own);
    if (layout == "BSND") return rows(own.transpose(0, 1));
    return rows(own.unflatten(1, at::IntArrayRef{heads, -1}).transpose(0, 1));  // BSH
}

int64_t batch_size(const InferenceAttention& a) {
    if (a.is_packed()) return a.query_lengths ? static_cast<int64_t>(a.query_lengths->size()) : 0;
    return a.query_layout() == "NSD" ? 1 : a.query.size(0);
}

int64_t positions(const at::Tensor& tensor, std::string_view layout) {
    if (layout == "TND") return tensor.size(0);
    return tensor.size(layout == "BNSD" ? 2 : 1);
}

// One position in each query.
bool is_single(const InferenceAttention& a) {
    return !a.is_packed() && positions(a.query, a.query_layout()) == 1;
}

// Those of the queries. With one position in each query they mean nothing: programs pass the lengths of the keys there.
const OptNumbers& query_lengths(const InferenceAttention& a) {
    static const OptNumbers none;
    return is_single(a) ? none : a.query_lengths;
}

// The length of the i-th sequence; a single length applies to all.
int64_t length_of(const std::vector<int64_t>& lengths, int64_t i) {
    return lengths.size() == 1 ? lengths[0] : lengths.at(i);
}

// Where the i-th sequence is: its length, or between the ends of the one before and its own.
Place place_of(const OptNumbers& lengths, bool packed, int64_t i, int64_t whole) {
    if (!lengths || lengths->empty()) return {i, 0, whole};
    if (!packed) return {i, 0, length_of(*lengths, i)};
    const int64_t first = i == 0 ? 0 : (*lengths)[i - 1];
    return {i, first, (*lengths)[i] - first};
}

struct Sequence {
    Place query, key;
};
Sequence sequence_of(const InferenceAttention& a, int64_t i) {
    const int64_t columns = given(a.pages) ? 0 : positions(a.keys[a.keys.size() > 1 ? i : 0], a.query_layout());
    return {place_of(query_lengths(a), a.is_packed(), i, positions(a.query, a.query_layout())),
            place_of(a.key_lengths, a.is_packed() && !given(a.pages), i, columns)};
}

// A sequence's keys or values out of the pages that the table names: {blocks, block, heads * features}, {blocks, heads, block, features},
// or {blocks, heads, features / c, block, c} with c features together.
int64_t positions_of_block(const at::Tensor& cache) {
    return cache.size(cache.dim() == 3 ? 1 : cache.dim() == 4 ? 2 : 3);
}
at::Tensor paged(const at::Tensor& cache, const at::Tensor& table, int64_t heads, int64_t length) {
    const int64_t block = positions_of_block(cache), count = length / block + (length % block != 0);
    if (count > table.size(0)) refuse("blockTable", c10::str(count, " blocks for ", length, " positions"), std::to_string(table.size(0)));
    const at::Tensor pages = table.narrow(0, 0, count).to(at::kLong);
    require_indices("blockTable", pages, cache.size(0));
    const at::Tensor blocks = cache.index_select(0, pages);
    at::Tensor rows;  // {heads, positions, features}
    if (cache.dim() == 3) rows = blocks.flatten(0, 1).unflatten(1, at::IntArrayRef{heads, -1}).transpose(0, 1);
    if (cache.dim() == 4) rows = blocks.transpose(0, 1).flatten(1, 2);
    if (cache.dim() == 5) rows = blocks.permute({1, 0, 3, 2, 4}).flatten(3).flatten(1, 2);
    return rows.narrow(1, 0, length);
}

// The keys or the values of a sequence, for every head of the query.
at::Tensor keys_of(const InferenceAttention& a, at::TensorList tensors, const Place& place) {
    const int64_t heads = a.heads_of_key();
    at::Tensor rows;
    if (given(a.pages)) {
        rows = paged(tensors[0], a.pages->select(0, place.batch), heads, place.length);
    } else if (tensors.size() > 1) {
        rows = sequence(tensors[place.batch], a.query_layout(), heads, {0, 0, place.length});
    } else {
        rows = sequence(tensors[0], a.query_layout(), heads, place);
    }
    return upcast(rows).repeat_interleave(a.heads / heads, 0);
}

// {1 or the batch, 1, rows, columns}. With one position in each query, two dimensions are the batch and the keys.
at::Tensor mask_of_batch(const InferenceAttention& a) {
    const at::Tensor& mask = *a.mask;
    if (mask.dim() == 3) return mask.unsqueeze(1);
    if (mask.dim() != 2) return mask;
    return is_single(a) && mask.size(0) == batch_size(a) ? mask.unsqueeze(1).unsqueeze(1) : mask.unsqueeze(0).unsqueeze(0);
}

// At least the rows and columns of the scores of each sequence, for so many heads.
void require_scores(const char* name, const at::Tensor& tensor, const InferenceAttention& a, int64_t batch, int64_t heads) {
    int64_t rows = 0, columns = 0;
    for (int64_t i = 0; i < batch; i++) {
        const auto [query, key] = sequence_of(a, i);
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
        if (a.sparse_mode > 1 && !is_single(a)) refuse_null("attenMask", kTriangle);
        return;
    }
    if (a.sparse_mode > 1) {
        if (!is_triangle(a.mask->sizes())) refuse("attenMask", kTriangle, shape_text(a.mask->sizes()));
        return;
    }
    require_scores("attenMask", mask_of_batch(a), a, batch, 1);
}

// The mask's part for a sequence.
at::Tensor mask_of(const InferenceAttention& a, int64_t i, int64_t rows, int64_t columns) {
    const at::Tensor mask = mask_of_batch(a);
    return mask.select(0, mask.size(0) == 1 ? 0 : i).select(0, 0).narrow(0, 0, rows).narrow(1, 0, columns).to(at::kBool);
}

// Which scores do not count. From mode 2 on the mask has a fixed size and says no more than the mode.
at::Tensor masked(const InferenceAttention& a, int64_t i, int64_t rows, int64_t columns) {
    const bool one = is_single(a) && !given(a.query_rope);  // neither modes nor distances count then
    const at::Tensor distance = at::arange(columns) - at::arange(rows).unsqueeze(1);
    const at::Tensor from_end = distance - (columns - rows);
    if (!one && a.sparse_mode == 2) return distance.gt(0);
    if (!one && a.sparse_mode == 3) return from_end.gt(0);
    if (!one && a.sparse_mode == 4) return from_end.gt(a.after).logical_or(from_end.lt(-a.before));
    if (!given(a.mask) || a.sparse_mode > 1) return at::zeros({}, at::kBool);
    const at::Tensor mask = mask_of(a, i, rows, columns);
    return one || a.sparse_mode == 1 ? mask : mask.logical_or(distance.gt(a.after)).logical_or(distance.lt(-a.before));
}

struct Attended {
    at::Tensor result, lse;
};

Attended attend(const InferenceAttention& a, const Place& query, const Place& key) {
    const auto rows = [&](const at::Tensor& tensor) { return upcast(sequence(tensor, a.query_layout(), a.heads, query)); };
    at::Tensor scores = at::matmul(rows(a.query), keys_of(a, a.keys, key).transpose(1, 2));
    if (given(a.query_rope)) scores = scores + at::matmul(rows(*a.query_rope), keys_of(a, *a.key_rope, key).transpose(1, 2));
    scores = scores * a.scale;
    if (given(a.shift)) {
        const at::Tensor own = upcast(a.shift->select(0, a.shift->size(0) == 1 ? 0 : query.batch));
        scores = scores + own.narrow(1, 0, query.length).narrow(2, 0, key.length);
    }
    scores = scores.masked_fill(masked(a, query.batch, query.length, key.length), -kInfinity);
    if (given(a.sink)) scores = at::cat({scores, upcast(*a.sink).view({-1, 1, 1}).expand({a.heads, query.length, 1})}, 2);
    const at::Tensor lse = at::logsumexp(scores, {2}, true);
    const at::Tensor powers = at::exp(scores - lse.masked_fill(lse.eq(-kInfinity), 0));
    return {at::matmul(powers.narrow(2, 0, key.length), keys_of(a, a.values, key)), lse};
}

// The scale of the result's quantisation, one for all or one for each head and feature.
at::Tensor quantised(const InferenceAttention& a, const at::Tensor& result) {
    const auto shaped = [&](const at::Tensor& values) {
        const at::Tensor numbers = to_double(values).flatten();
        return numbers.numel() == 1 ? numbers : numbers.view({result.size(0), 1, result.size(2)});
    };
    const at::Tensor scaled = to_double(result) * shaped(*a.quant_scale);
    return given(a.quant_offset) ? scaled + shaped(*a.quant_offset) : scaled;
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

// Of a head of the values.
int64_t value_features(const InferenceAttention& a) {
    const at::Tensor& value = a.values[0];
    const bool joined = given(a.pages) ? value.dim() == 3 : a.query_layout().back() == 'H';
    if (joined) return value.size(2) / a.heads_of_key();
    return value.dim() == 5 ? value.size(2) * value.size(4) : value.size(-1);
}

// Of packed sequences Ascend910B takes few sizes, as users of vllm-ascend found.
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
        case 'B': return batch_size(a);
        case 'N': return a.heads;
        case 'D': return value_features(a);
        case 'H': return a.heads * value_features(a);
        case 'T': return a.query.size(static_cast<int64_t>(a.query_layout().find('T')));
        default: return positions(a.query, a.query_layout());
    }
}

// Sequences of the batch, and heads of them, with as many values as keys. A key has the query's features.
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
    require_lengths(a.key_lengths_name, a.key_lengths, a.is_packed(), batch, positions(a.keys[0], layout));
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
    require_no_gaps_if_strict("query", a.query);
    for (const at::Tensor& key : a.keys) require_no_gaps_if_strict("key", key);
    for (const at::Tensor& value : a.values) require_no_gaps_if_strict("value", value);
    require_rank("query", a.query, a.query_layout());
    if (a.keys.empty()) refuse("key", "at least one tensor", "none");
    if (a.keys.size() != a.values.size()) refuse("value", c10::str(a.keys.size(), " tensors, as key has"), std::to_string(a.values.size()));
    if (a.heads_of_key() < 0 || a.heads_of_key() > a.heads || a.heads % a.heads_of_key() != 0)
        refuse("numKeyValueHeads", c10::str("a divisor of numHeads, ", a.heads), std::to_string(a.key_heads));
    const size_t place = a.query_layout().find('N');
    if (place == std::string_view::npos ? a.query.size(2) % a.heads != 0 : a.query.size(place) != a.heads)
        refuse("query", c10::str(a.heads, " heads"), shape_text(a.query.sizes()));
    const int64_t batch = batch_size(a);
    if (a.keys.size() > 1 && static_cast<int64_t>(a.keys.size()) != batch)
        refuse("key", c10::str("1 tensor or ", batch), std::to_string(a.keys.size()));
    require_lengths("actualSeqLengths", query_lengths(a), a.is_packed(), batch, positions(a.query, a.query_layout()));
    if (given(a.query_rope) != given(a.key_rope))
        refuse("keyRope", "a tensor if and only if there is queryRope", given(a.key_rope) ? "one" : "none");
    if (given(a.pages))
        require_pages(a, batch);
    else
        require_plain_keys(a, batch);
    require_features(a);
    require_mask(a, batch);
    if (given(a.shift)) require_scores("pseShift", *a.shift, a, batch, a.heads);
    // The query's dimensions and the key's, with features of their own. Pages have several forms.
    if (given(a.query_rope)) require_expected("queryRope", *a.query_rope, with_size(a.query.sizes(), -1, kAny));
    if (given(a.query_rope) && !given(a.pages)) require_expected("keyRope", *a.key_rope, with_size(a.keys[0].sizes(), -1, kAny));
    require_quantisation(a);
}

void infer_attention(const InferenceAttention& a, at::Tensor& out, const OptTensor& lse) {
    out.zero_();  // positions behind a sequence's length
    if (lse) lse->zero_();
    for (int64_t i = 0; i < batch_size(a); i++) {
        const auto [query, key] = sequence_of(a, i);
        if (query.length == 0 || key.length == 0) continue;
        const Attended attended = attend(a, query, key);
        at::Tensor place = sequence(out, a.out_layout(), a.heads, query);
        if (given(a.quant_scale)) {
            place.copy_(at::round(quantised(a, attended.result)).clamp(-128, 127));
        } else {
            place.copy_(attended.result);
        }
        if (given(lse)) sequence(*lse, a.is_packed() ? "TND" : "BNSD", a.heads, query).copy_(attended.lse);
    }
}

}  // namespace torch_aclnn::host::aten
