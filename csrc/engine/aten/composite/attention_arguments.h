// The arguments that the versions of fused attention share: what is checked of them, their shapes, and the bodies.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/undocumented.h"
#include "engine/aten/composite/fused_attention.h"

namespace torch_aclnn::host::aten {

inline void require_absent(const char* name, const std::optional<at::Tensor>& tensor) {
    if (tensor && tensor->numel() > 0) refuse(name, "null: the engine has none", shape_text(tensor->sizes()));
}

// The engine has no shifts of positions and no padding masks; a letter of the layout for each dimension; and heads that fit together.
inline void require_attention(std::string_view layout, int64_t heads, const NamedShape& query, const NamedShape& key,
                              const NamedShape& value, const std::optional<at::Tensor>& position_shift,
                              const std::optional<at::Tensor>& padding_mask) {
    require_absent("realShift", position_shift);
    require_absent("paddingMask", padding_mask);
    for (const NamedShape* tensor : {&query, &key, &value})
        if (tensor->sizes.size() != layout.size()) refuse(tensor->name, c10::str("the dimensions ", layout), shape_text(tensor->sizes));
    const bool joined = layout.back() == 'H';
    const size_t place = joined ? 2 : layout.find('N');  // of the heads
    const int64_t of_query = query.sizes[place], features = joined ? of_query / heads : 1;
    if (features == 0 || of_query != heads * features)
        refuse("query", c10::str("headNum, ", heads, joined ? ", as a divisor of dimension " : ", as dimension ", place),
               std::to_string(of_query));
    const int64_t key_heads = key.sizes[place] / features;
    if (key_heads == 0 || heads % key_heads != 0 || key.sizes[place] != key_heads * features)
        refuse("key", c10::str("heads that divide the query's ", heads), shape_text(key.sizes));
    if (joined ? value.sizes[place] % key_heads != 0 : value.sizes[place] != key_heads)
        refuse("value", c10::str("the key's ", key_heads, " heads"), shape_text(value.sizes));
    for (size_t d = 0; d < layout.size(); d++) {
        if ((layout[d] == 'B' || layout[d] == 'D') && key.sizes[d] != query.sizes[d])
            refuse("key", c10::str(query.sizes[d], " in dimension ", d, ", as query has"), shape_text(key.sizes));
        if ((layout[d] == 'B' || layout[d] == 'S' || layout[d] == 'T') && value.sizes[d] != key.sizes[d])
            refuse("value", c10::str(key.sizes[d], " in dimension ", d, ", as key has"), shape_text(value.sizes));
    }
}

// Found on Ascend910B with CANN 9.0, of which the document does not tell.
inline void require_usual_shift_if_strict(std::string_view layout, int64_t shift_type) {
    if (config().strict && layout == "BNSD" && shift_type != 1)
        refuse("pseType", "1 for BNSD without realShift, as TORCH_ACLNN_HOST_MODE=strict asks", std::to_string(shift_type));
}

// A mask has all rows and columns: for all, for each sequence, or for each of its heads. In modes 2 and 3 it is of a size of its own.
inline AnyShape masking(const std::optional<at::Tensor>& mask, std::string_view layout, int64_t heads, const at::Tensor& query,
                        const at::Tensor& key, int64_t mode) {
    if (!mask || mask->numel() == 0 || layout == "TND" || mode > 1) return any_shape();
    const auto size = [&](const at::Tensor& tensor, char letter) { return tensor.size(static_cast<int64_t>(layout.find(letter))); };
    const int64_t batch = size(query, 'B'), rows = size(query, 'S'), columns = size(key, 'S');
    const at::DimVector listed[] = {{rows, columns}, {1, 1, rows, columns}, {batch, 1, rows, columns}, {batch, heads, rows, columns}};
    for (const at::DimVector& sizes : listed)
        if (mask->sizes() == sizes) return any_shape();
    refuse("attenMask", c10::str("shape [", rows, ", ", columns, "], or 4 dimensions with these and 1 or ", batch, " and ", heads),
           shape_text(mask->sizes()));
}

// The result has the query's heads and positions, and the value's features.
inline Expected attended_shape(std::string_view layout, int64_t heads, const at::Tensor& query, const at::Tensor& key,
                               const at::Tensor& value) {
    Expected expected = like(query);
    const int64_t last = query.dim() - 1, of_query = query.size(last);
    // Joined features are those of all heads, of which the key and the value may have fewer.
    expected.sizes.back() = layout.back() == 'H' ? heads * (value.size(last) / (key.size(last) / (of_query / heads))) : value.size(last);
    return expected;
}
// Eight equal numbers for each row of scores.
inline Expected statistics(std::string_view layout, int64_t heads, const at::Tensor& query) {
    const auto size = [&](char letter) { return query.size(static_cast<int64_t>(layout.find(letter))); };
    return layout == "TND" ? shape({size('T'), heads, 8}) : shape({size('B'), heads, size('S'), 8});
}

// Each sequence's end; together they have all tokens, or nobody would write the others' rows.
inline void require_ends(const char* name, at::IntArrayRef ends, const at::Tensor& tokens) {
    const int64_t last = ends.empty() ? 0 : ends.back();
    if (last != tokens.size(0) || (!ends.empty() && ends.front() < 0) || !std::is_sorted(ends.begin(), ends.end()))
        refuse(name, "rising numbers that end with " + std::to_string(tokens.size(0)), c10::str(ends));
}
inline void require_packed(const at::Tensor& query, const at::Tensor& key, at::IntArrayRef query_ends, at::IntArrayRef key_ends) {
    require_as_many({{"actualSeqKvLen", key_ends}}, {"actualSeqQLen", query_ends});
    require_ends("actualSeqQLen", query_ends, query);
    require_ends("actualSeqKvLen", key_ends, key);
}

// softmaxMax and softmaxSum have eight equal columns.
inline void score(const AttentionLayout& layout, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                  const AttentionOptions& options, const std::optional<at::Tensor>& maximum, const std::optional<at::Tensor>& sum,
                  const std::optional<at::Tensor>& reserved, at::Tensor& out) {
    fill_reserved_if_unspecified(reserved);
    const Attention a = attend(layout, query, key, value, options);
    write(out, attended(layout, a));
    if (maximum) maximum->copy_(a.maximum.expand_as(*maximum));
    if (sum) sum->copy_(a.sum.expand_as(*sum));
}

// Returns the gradient of the sink, which is undefined without one.
inline at::Tensor score_backward(const AttentionLayout& layout, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                 const at::Tensor& dy, const AttentionOptions& options, at::Tensor& dq, at::Tensor& dk, at::Tensor& dv) {
    const Attention a = attend(layout, query, key, value, options);
    const int64_t key_heads = layout.to_bnsd(key, layout.features(query)).size(1);
    const AttentionGradients of = attend_backward(layout, a, key_heads, dy, options.scale);
    write(dq, of.query);
    write(dk, of.key);
    write(dv, of.value);
    return of.sink;
}

// Attention of packed sequences, which are concatenated in dimension 0.
struct Packed {
    int64_t heads;
    at::Tensor query, key, value;
    at::IntArrayRef query_ends, key_ends;
    AttentionOptions options;

    void score(const std::optional<at::Tensor>& maximum, const std::optional<at::Tensor>& sum, const std::optional<at::Tensor>& reserved,
               const at::Tensor& out) const {
        fill_reserved_if_unspecified(reserved);
        attend_each(heads, query, key, value, query_ends, key_ends, options,
                    [&](const AttentionLayout& layout, const Attention& a, auto of_query, auto) {
                        of_query(out).copy_(attended(layout, a));
                        const auto put = [&](const std::optional<at::Tensor>& place, const at::Tensor& values) {
                            if (place) of_query(*place).copy_(values.transpose(1, 2).expand_as(of_query(*place)));
                        };
                        put(maximum, a.maximum);
                        put(sum, a.sum);
                    });
    }
    at::Tensor score_backward(const at::Tensor& dy, const at::Tensor& dq, const at::Tensor& dk, const at::Tensor& dv) const {
        at::Tensor of_sink;
        attend_each(heads, query, key, value, query_ends, key_ends, options,
                    [&](const AttentionLayout& layout, const Attention& a, auto of_query, auto of_key) {
                        const AttentionGradients of = attend_backward(layout, a, key.size(1), of_query(dy), options.scale);
                        of_query(dq).copy_(of.query);
                        of_key(dk).copy_(of.key);
                        of_key(dv).copy_(of.value);
                        of_sink = of_sink.defined() ? of_sink + of.sink : of.sink;
                    });
        return of_sink;
    }
};

inline std::string_view read_layout(const char* name, const char* text) {
    return read_choice(name, text, {"BNSD", "BSND", "BSH", "SBH"});
}
inline std::string_view read_packed_layout(const char* name, const char* text) {
    return read_choice(name, text, {"TND"});
}
// In which order the rows' maxima and sums lie: torch_npu passes that of the query.
inline std::string_view read_softmax_layout(const char* name, const char* text) {
    return read_choice(name, text, {"same_as_input"});
}

namespace kind {
using AttentionLayout = Kind<const char*, std::string_view, std::string_view, read_layout>;
using PackedLayout = Kind<const char*, std::string_view, std::string_view, read_packed_layout>;
using SoftmaxLayout = Kind<const char*, std::string_view, std::string_view, read_softmax_layout>;
using SparseMode = Between<int64_t, 0, 3>;
using ShiftType = Between<int64_t, 0, 3>;  // how a shift of positions comes about
}  // namespace kind

}  // namespace torch_aclnn::host::aten

#define REQUIRE_ATTENTION require_attention(inputLayout, headNum, {"query", query}, {"key", key}, {"value", value}, realShift, paddingMask)
#define REQUIRE_PACKED (REQUIRE_ATTENTION, require_packed(query, key, actualSeqQLen, actualSeqKvLen))
#define OPTIONS                                                                      \
    AttentionOptions {                                                               \
        dropMask, attenMask, scaleValue, keepProb, preTokens, nextTokens, sparseMode \
    }
#define LAYOUT               \
    AttentionLayout {        \
        inputLayout, headNum \
    }
#define PACKED                                                             \
    Packed {                                                               \
        headNum, query, key, value, actualSeqQLen, actualSeqKvLen, OPTIONS \
    }

// The lists of arguments that the versions share.
#define QUERY_KEY_VALUE (In, query), (In, key), (In, value)
#define MASKS                                                    \
    (OptIn, realShift), (OptIn, dropMask), (OptIn, paddingMask), \
        (OptIn, attenMask, masking(attenMask, inputLayout, headNum, query, key, sparseMode))
#define STATISTICS_IN (OptIn, softmaxMax), (OptIn, softmaxSum), (OptIn, softmaxIn), (OptIn, attentionIn)
#define SAVED STATISTICS_IN, (OptInts, prefix)
#define ENDS (Ints, actualSeqQLen), (Ints, actualSeqKvLen)
#define STARTS (OptInts, qStartIdx), (OptInts, kvStartIdx)
#define ATTRIBUTES(layout)                                                                                                          \
    (Double, scaleValue), (Probability, keepProb), (Int, preTokens), (Int, nextTokens), (Positive, headNum), (layout, inputLayout), \
        (Int, innerPrecise), (SparseMode, sparseMode)
#define RESULT attended_shape(inputLayout, headNum, query, key, value)
#define STATISTICS statistics(inputLayout, headNum, query)
// Nothing is written to softmaxOut, which is reserved, nor to dpse, as there are no shifts of positions.
#define RESULTS \
    (OptOut, softmaxMax, STATISTICS), (OptOut, softmaxSum, STATISTICS), (OptOut, softmaxOut, any_shape()), (Out, attentionOut, RESULT)
#define GRADIENTS (Out, dq, like(query)), (Out, dk, like(key)), (Out, dv, like(value)), (OptOut, dpse, any_shape())
