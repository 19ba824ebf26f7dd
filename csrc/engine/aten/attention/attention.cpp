// Fused attention of all versions, and its gradients. The newer ones have a sink for each head, and features that only the scores see
// (rope), which are features of the query and the key like the others.
#include "engine/aten/attention/attention_arguments.h"
#include "engine/aten/numerics/undocumented.h"
#include "engine/aten/random/dropout_mask.h"
#include "vocabulary/attention/attention_calls.h"

namespace {

using call::FlashAttentionScore;

constexpr int64_t kLastRows = 1024;  // of a shift that depends on distances only

bool is_packed(const FlashAttentionScore& a) {
    return a.inputLayout == "TND";
}
int64_t size(const FlashAttentionScore& a, const at::Tensor& tensor, char letter) {
    return tensor.size(static_cast<int64_t>(a.inputLayout.find(letter)));
}

// The document does not state this limit; it was found on Ascend910B with CANN 9.0.
void require_usual_shift_if_strict(const FlashAttentionScore& a) {
    if (torch_aclnn::host::config().strict && a.inputLayout == "BNSD" && a.pseType != 1)
        refuse("pseType", "1 for BNSD without realShift, as TORCH_ACLNN_HOST_MODE=strict asks", std::to_string(a.pseType));
}

// Refuses ends of sequences that do not cover all tokens, because the rows of the others would not be written.
void require_ends(const char* name, at::IntArrayRef ends, const at::Tensor& tokens) {
    const int64_t last = ends.empty() ? 0 : ends.back();
    if (last != tokens.size(0) || (!ends.empty() && ends.front() < 0) || !std::is_sorted(ends.begin(), ends.end()))
        refuse(name, "rising numbers that end with " + std::to_string(tokens.size(0)), c10::str(ends));
}

// These limits are from op-plugin's document of npu_fusion_attention.
void require_features(const FlashAttentionScore& a) {
    const auto features = [&](const at::Tensor& tensor, int64_t heads) {
        return a.inputLayout.back() == 'H' ? tensor.size(2) / heads : tensor.size(-1);
    };
    const int64_t of_query = features(a.query, a.headNum), key_heads = a.inputLayout.back() == 'H' ? a.key.size(2) / of_query : 1;
    const int64_t of_value = features(a.value, key_heads);
    if (torch_aclnn::host::config().strict && (of_query > 768 || of_value > of_query))
        refuse("query", "at most 768 features of a head, and no fewer than value has, as TORCH_ACLNN_HOST_MODE=strict asks",
               c10::str(of_query, " and ", of_value));
}

// A shift has 4 dimensions; of many rows that are as many as the columns the last 1024 suffice. Types 2 and 3 have slopes of the heads.
void require_shift(const FlashAttentionScore& a, int64_t type) {
    if (!given(a.realShift)) return;
    const at::IntArrayRef sizes = a.realShift->sizes();
    const at::ScalarType expected = type > 1 ? at::kFloat : a.query.scalar_type();
    if (a.realShift->scalar_type() != expected)
        refuse("realShift", c10::str(dtype_name(expected), " for pseType ", type), dtype_name(a.realShift->scalar_type()));
    const int64_t batch = is_packed(a) ? static_cast<int64_t>(a.actualSeqQLen.size()) : size(a, a.query, 'B');
    if (type > 1) {
        if (sizes == at::DimVector{a.headNum} || sizes == at::DimVector{batch, a.headNum}) return;
        refuse("realShift", c10::str("shape [", a.headNum, "] or [", batch, ", ", a.headNum, "] for pseType ", type), shape_text(sizes));
    }
    if (is_packed(a)) refuse("realShift", "null for pseType 0 and 1 in the layout TND: the engine has none", shape_text(sizes));
    const int64_t rows = size(a, a.query, 'S'), columns = size(a, a.key, 'S');
    const bool may_have_last =
        given(a.attenMask) && rows > kLastRows && rows == columns && (a.sparseMode == 0 || a.sparseMode == 2 || a.sparseMode == 3);
    const bool fits = sizes.size() == 4 && (sizes[0] == 1 || sizes[0] == batch) && sizes[1] == a.headNum && sizes[3] == columns &&
                      (sizes[2] == 1 || sizes[2] == rows || (may_have_last && sizes[2] == kLastRows));
    if (!fits)
        refuse(
            "realShift",
            c10::str("4 dimensions: 1 or ", batch, ", ", a.headNum, ", 1 or ", rows, may_have_last ? " or 1024, and " : ", and ", columns),
            shape_text(sizes));
}

// The engine has no padding masks and no scales of quantised inputs, which the 950 has.
void check(const FlashAttentionScore& a, int64_t pse_type) {
    require_not_given("dScaleDy", a.dScaleDy, "dScaleO", a.dScaleO, "dScaleQ", a.dScaleQ, "dScaleK", a.dScaleK, "dScaleV", a.dScaleV,
                      "paddingMask", a.paddingMask);
    if (given(a.queryRope) != given(a.keyRope))
        refuse("keyRope", "a tensor if and only if there is queryRope", given(a.keyRope) ? "one" : "none");
    if (given(a.queryRope) && a.inputLayout.back() != 'D')
        refuse("queryRope", "null where inputLayout has H: the engine has none", std::string(a.inputLayout));
    require_attention(a.inputLayout, a.headNum, {"query", a.query}, {"key", a.key}, {"value", a.value});
    if (a.sparseMode > 4 && (!is_packed(a) || a.sparseMode < 7))
        refuse("sparseMode", "0 to 4, or 7 or 8 with the layout TND: the engine has no prefixes", std::to_string(a.sparseMode));
    require_features(a);
    require_shift(a, pse_type);
    if (!is_packed(a)) return;
    require_as_many({{"actualSeqKvLen", a.actualSeqKvLen}}, {"actualSeqQLen", a.actualSeqQLen});
    require_ends("actualSeqQLen", a.actualSeqQLen, a.query);
    require_ends("actualSeqKvLen", a.actualSeqKvLen, a.key);
}

int64_t longest_of(at::IntArrayRef ends) {
    int64_t most = 0;
    for (size_t i = 0; i < ends.size(); i++) most = std::max(most, ends[i] - (i == 0 ? 0 : ends[i - 1]));
    return most;
}

// A mask has all rows and columns, once, for each sequence, or for each head of each. From mode 2 on its size is fixed, and packed
// sequences share one mask.
AnyShape masking(const FlashAttentionScore& a) {
    if (!given(a.attenMask)) return any_shape();
    if (a.sparseMode > 1) {
        if (!is_triangle(a.attenMask->sizes())) refuse("attenMask", kTriangle, shape_text(a.attenMask->sizes()));
        return any_shape();
    }
    if (is_packed(a)) {
        const int64_t rows = longest_of(a.actualSeqQLen), columns = longest_of(a.actualSeqKvLen);
        if (a.attenMask->dim() != 2 || a.attenMask->size(0) < rows || a.attenMask->size(1) < columns)
            refuse("attenMask", c10::str("2 dimensions of at least ", rows, " and ", columns), shape_text(a.attenMask->sizes()));
        return any_shape();
    }
    const int64_t batch = size(a, a.query, 'B'), rows = size(a, a.query, 'S'), columns = size(a, a.key, 'S');
    const at::DimVector listed[] = {{rows, columns}, {1, 1, rows, columns}, {batch, 1, rows, columns}, {batch, a.headNum, rows, columns}};
    for (const at::DimVector& sizes : listed)
        if (a.attenMask->sizes() == sizes) return any_shape();
    refuse("attenMask", c10::str("shape [", rows, ", ", columns, "], or 4 dimensions with these and 1 or ", batch, " and ", a.headNum),
           shape_text(a.attenMask->sizes()));
}

// torch_npu passes a tensor without elements for the gradient of a shift that is not given.
OrEmpty<> shift_gradient(const FlashAttentionScore& a) {
    return or_empty({given(a.realShift) ? a.realShift->sizes() : at::IntArrayRef{0}, a.query.scalar_type()});
}
OrEmpty<> rope_of(const at::Tensor& tensor, const OptTensor& rope) {
    return or_empty({with_size(tensor.sizes(), -1, given(rope) ? size_of(*rope, rope->dim() - 1) : 0).sizes, tensor.scalar_type()});
}
// The statistics have eight equal numbers for each row of scores.
Expected statistics(const FlashAttentionScore& a) {
    return is_packed(a) ? shape({size(a, a.query, 'T'), a.headNum, 8})
                        : shape({size(a, a.query, 'B'), a.headNum, size(a, a.query, 'S'), 8});
}

// On Ascend950 the operator draws by itself what dropout keeps.
OptTensor drawn_if_missing(const FlashAttentionScore& a) {
    if (given(a.dropMask) || a.keepProb == 1) return a.dropMask;
    int64_t scores = 0;
    for (size_t i = 0; i < a.actualSeqQLen.size() && is_packed(a); i++)
        scores +=
            (a.actualSeqQLen[i] - (i == 0 ? 0 : a.actualSeqQLen[i - 1])) * (a.actualSeqKvLen[i] - (i == 0 ? 0 : a.actualSeqKvLen[i - 1]));
    if (!is_packed(a)) scores = size(a, a.query, 'B') * size(a, a.query, 'S') * size(a, a.key, 'S');
    return drawn_dropout_mask({(scores * a.headNum + 7) / 8}, PhiloxStream(a.seed, a.offset), a.keepProb);
}

at::Tensor with_rope(const at::Tensor& tensor, const OptTensor& rope) {
    return given(rope) ? at::cat({tensor, *rope}, -1) : tensor;
}

// In mode 7 the last sequence that is not empty is a band, and those before it are as in mode 3; in mode 8 the first one, and those behind
// it are as in mode 2. So a rank has them whose queries begin or end within a sequence.
int64_t mode_of_sequence(const FlashAttentionScore& a, size_t i) {
    if (a.sparseMode < 7) return a.sparseMode;
    const at::IntArrayRef ends = a.actualSeqQLen;
    const auto band =
        a.sparseMode == 7 ? std::lower_bound(ends.begin(), ends.end(), ends.back()) : std::upper_bound(ends.begin(), ends.end(), 0);
    return ends.begin() + i == band ? 4 : 10 - a.sparseMode;
}

int64_t first(const OptNumbers& numbers) {
    return numbers && !numbers->empty() ? numbers->front() : 0;
}

// Calls `use` with the attention of the whole batch or, in the layout TND of {tokens, heads, features}, of each of the sequences, whose
// tokens follow each other. It also gets functions that return what belongs to its queries and keys as BNSD, in the tensor's memory.
template <class Use>
void for_each_attention(const FlashAttentionScore& a, const OptTensor& drop_mask, int64_t pse_type, Use use) {
    const at::Tensor query = with_rope(a.query, a.queryRope), key = with_rope(a.key, a.keyRope);
    AttentionOptions options{drop_mask,
                             a.attenMask,
                             a.scaleValue,
                             a.keepProb,
                             a.preTokens,
                             a.nextTokens,
                             a.sparseMode,
                             0,
                             given(a.sink) ? a.sink : std::nullopt,
                             given(a.realShift) ? a.realShift : std::nullopt,
                             pse_type,
                             first(a.qStartIdx) - first(a.kvStartIdx)};
    if (!is_packed(a)) {
        const AttentionLayout layout{a.inputLayout, a.headNum};
        const int64_t key_heads = layout.to_bnsd(key, layout.features(query)).size(1);
        const auto of_query = [&](const at::Tensor& x) { return layout.to_bnsd(x, x.size(2) / a.headNum); };
        const auto of_key = [&](const at::Tensor& x) { return layout.to_bnsd(x, x.size(2) / key_heads); };
        return use(FusedAttention(of_query(query), of_key(key), of_key(a.value), options), of_query, of_key);
    }
    int64_t query_first = 0, key_first = 0;
    for (size_t i = 0; i < a.actualSeqQLen.size(); i++) {
        const int64_t rows = a.actualSeqQLen[i] - query_first, columns = a.actualSeqKvLen[i] - key_first;
        const auto cut = [](int64_t first, int64_t count) {
            return [=](const at::Tensor& tensor) { return tensor.narrow(0, first, count).unsqueeze(0).transpose(1, 2); };
        };
        const auto of_query = cut(query_first, rows), of_key = cut(key_first, columns);
        AttentionOptions own = options;
        own.mode = mode_of_sequence(a, i);
        if (own.shift && own.shift->dim() == 2) own.shift = own.shift->select(0, static_cast<int64_t>(i));
        if (own.mask && own.mode < 2) own.mask = own.mask->narrow(-2, 0, rows).narrow(-1, 0, columns);
        use(FusedAttention(of_query(query), of_key(key), of_key(a.value), own), of_query, of_key);
        options.first_drop_bit += a.headNum * rows * columns;
        query_first = a.actualSeqQLen[i];
        key_first = a.actualSeqKvLen[i];
    }
}

// The statistics have the layout BNS8 whatever that of the others is.
AttentionResults results(const FlashAttentionScore& a, const OptTensor& result, const auto& of_query) {
    const auto viewed = [](const OptTensor& tensor, const auto& view) { return given(tensor) ? OptTensor(view(*tensor)) : std::nullopt; };
    const auto of_statistic = [&](const at::Tensor& tensor) { return is_packed(a) ? of_query(tensor) : tensor; };
    return {viewed(result, of_query), viewed(a.softmaxMax, of_statistic), viewed(a.softmaxSum, of_statistic)};
}

void score(const FlashAttentionScore& a, const OptTensor& drop_mask, int64_t pse_type) {
    fill_reserved_if_unspecified(a.softmaxOut);
    for_each_attention(a, drop_mask, pse_type, [&](const FusedAttention& attention, const auto& of_query, const auto&) {
        attention.write_results(results(a, a.attentionOut, of_query));
    });
}

void split_rope(const at::Tensor& joined, const at::Tensor& out, const OptTensor& rope) {
    if (joined.is_same(out)) return;
    const int64_t features = out.size(-1);
    out.copy_(joined.narrow(-1, 0, features));
    if (given(rope)) rope->copy_(joined.narrow(-1, features, rope->size(-1)));
}

void score_backward(const FlashAttentionScore& a, const OptTensor& drop_mask, int64_t pse_type) {
    // The joined gradients have memory of their own where there is rope; nothing reads its contents.
    const at::Tensor dq = with_rope(a.dq, a.queryRope), dk = with_rope(a.dk, a.keyRope);
    at::Tensor of_sink = at::zeros({a.headNum});
    fill_reserved_if_unspecified(a.dpse);
    for_each_attention(a, drop_mask, pse_type, [&](const FusedAttention& attention, const auto& of_query, const auto& of_key) {
        const AttentionGradients gradients{of_query(dq), of_key(dk), of_key(a.dv), attention.has_whole_shift() ? a.dpse : std::nullopt};
        of_sink += attention.write_gradients(of_query(a.dy), results(a, a.attentionIn, of_query), gradients);
    });
    split_rope(dq, a.dq, a.dqRope);
    split_rope(dk, a.dk, a.dkRope);
    if (given(a.dsink)) write(*a.dsink, of_sink);
}

}  // namespace
