#include "engine/aten/attention/inference_attention.h"

#include "engine/aten/attention/fused_attention.h"
#include "engine/aten/quantization/packed_integers.h"

namespace torch_aclnn::host::aten {
namespace {

// Returns one sequence of a tensor as a view {heads, positions, features}, into which a result can be written.
at::Tensor sequence(const at::Tensor& tensor, std::string_view layout, int64_t heads, const SequencePlace& place) {
    const auto rows = [&](const at::Tensor& t) { return t.narrow(1, place.first, place.length); };
    if (layout == "TND") return rows(tensor.transpose(0, 1));
    if (layout == "NTD" || layout == "NSD") return rows(tensor);
    if (layout == "NBSD") return rows(tensor.select(1, place.batch));
    const at::Tensor own = tensor.select(0, place.batch);
    if (layout == "BNSD") return rows(own);
    if (layout == "BSND") return rows(own.transpose(0, 1));
    return rows(own.unflatten(1, at::IntArrayRef{heads, -1}).transpose(0, 1));  // BSH
}

// Returns a sequence's keys or values out of the pages that the table names: {blocks, block, heads * features}, {blocks, heads, block,
// features}, or {blocks, heads, features / c, block, c} with c features together.
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

at::Tensor keys_of(const InferenceAttention& a, at::TensorList tensors, const SequencePlace& place) {
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

at::Tensor mask_of(const InferenceAttention& a, int64_t i, int64_t rows, int64_t columns) {
    const at::Tensor mask = a.mask_of_batch();
    return mask.select(0, mask.size(0) == 1 ? 0 : i).select(0, 0).narrow(0, 0, rows).narrow(1, 0, columns).to(at::kBool);
}

// Returns the mask of scores that do not count; nothing if all count.
OptTensor masked(const InferenceAttention& a, int64_t i, int64_t rows, int64_t columns) {
    const bool has_modes = !a.is_single() || given(a.query_rope);  // whether the call has modes and distances
    if (!given(a.mask) || (!has_modes && a.sparse_mode > 1)) return std::nullopt;
    const int64_t mode = has_modes ? a.sparse_mode : 1;
    const at::Tensor mask = mode > 1 ? *a.mask : mask_of(a, i, rows, columns);
    return hidden_scores(rows, columns, {std::nullopt, mask, a.scale, 1, a.before, a.after, mode});
}

struct Attended {
    at::Tensor result, lse;
};

Attended attend(const InferenceAttention& a, const SequencePlace& query, const SequencePlace& key) {
    const auto rows = [&](const at::Tensor& tensor) { return upcast(sequence(tensor, a.query_layout(), a.heads, query)); };
    at::Tensor scores = at::matmul(rows(a.query), keys_of(a, a.keys, key).transpose(1, 2));
    if (given(a.query_rope)) scores = scores + at::matmul(rows(*a.query_rope), keys_of(a, *a.key_rope, key).transpose(1, 2));
    scores = scores * a.scale;
    if (given(a.shift)) {
        const at::Tensor own = upcast(a.shift->select(0, a.shift->size(0) == 1 ? 0 : query.batch));
        scores = scores + own.narrow(1, 0, query.length).narrow(2, 0, key.length);
    }
    if (const auto hidden = masked(a, query.batch, query.length, key.length)) scores = scores.masked_fill(*hidden, -kInfinity);
    if (given(a.sink)) scores = at::cat({scores, upcast(*a.sink).view({-1, 1, 1}).expand({a.heads, query.length, 1})}, 2);
    const at::Tensor lse = at::logsumexp(scores, {2}, true);
    const at::Tensor powers = at::exp(scores - lse.masked_fill(lse.eq(-kInfinity), 0));
    return {at::matmul(powers.narrow(2, 0, key.length), keys_of(a, a.values, key)), lse};
}

at::Tensor quantised(const InferenceAttention& a, const at::Tensor& result) {
    const auto shaped = [&](const at::Tensor& values) {
        const at::Tensor numbers = to_double(values).flatten();
        return numbers.numel() == 1 ? numbers : numbers.view({result.size(0), 1, result.size(2)});
    };
    const at::Tensor scaled = to_double(result) * shaped(*a.quant_scale);
    return given(a.quant_offset) ? scaled + shaped(*a.quant_offset) : scaled;
}

}  // namespace

void infer_attention(const InferenceAttention& a, at::Tensor& out, const OptTensor& lse) {
    out.zero_();  // positions behind a sequence's length
    if (lse) lse->zero_();
    for (int64_t i = 0; i < a.batch_size(); i++) {
        const auto [query, key] = a.sequence(i);
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
