// What makes the queries, keys and values of tokens: parts of one product that are normalised, turned and put into caches, and products
// with small weights of the tokens' own.
#include <ATen/ATen.h>

#include <algorithm>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/indices.h"
#include "engine/aten/adapter/results.h"
#include "engine/aten/composite/cache_rows.h"
#include "engine/aten/composite/quantised.h"
#include "engine/aten/composite/rms_norm.h"

#define ATEN_FAMILY "transformer"
using namespace torch_aclnn::host::aten;

namespace {

using torch_aclnn::host::refuse;
using OptTensor = std::optional<at::Tensor>;
using torch_aclnn::host::aten::require_range;

// The first half of the features is paired with the second.
at::Tensor turned(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin) {
    const std::vector<at::Tensor> halves = x.chunk(2, -1);
    return x * upcast(cos) + at::cat({-halves[1], halves[0]}, -1) * upcast(sin);
}

at::Tensor eight_bits(const at::Tensor& numbers) {
    return at::round(numbers).clamp(-128, 127);
}

// Of the heads of queries, keys and values: their features, and where each begins.
struct HeadParts {
    at::IntArrayRef heads;
    int64_t features;

    Expected flat(const at::Tensor& qkv, int64_t part) const { return shape({size_of(qkv, 0), heads[part] * features}); }
    at::Tensor of(const at::Tensor& qkv, int64_t part) const {
        int64_t first = 0;
        for (int64_t i = 0; i < part; i++) first += heads[i] * features;
        return upcast(qkv).narrow(1, first, heads[part] * features).unflatten(1, at::IntArrayRef{heads[part], features});
    }
    void require(const at::Tensor& qkv, at::IntArrayRef sizes) const {
        const Int128 columns = (Int128{heads[0]} + heads[1] + heads[2]) * features;
        if (features % 2 != 0) refuse("qkvSize", "an even number of features", c10::str(sizes));
        if (qkv.dim() != 2 || Int128{sizes[0]} * sizes[1] != qkv.size(0) || columns != qkv.size(1) ||
            sizes[2] != heads[0] + heads[1] + heads[2])
            refuse("qkv", "the tokens and the heads of qkvSize and headNums", shape_text(qkv.sizes()));
    }
    // Blocks of features, each with all positions of a block of the cache.
    Expected cache(const at::Tensor& cache, int64_t part) const {
        const int64_t together = cache.dim() == 4 ? cache.size(3) : 0;
        if (together == 0 || features % together != 0)
            refuse("kCacheRef", c10::str("blocks of the ", features, " features"), shape_text(cache.sizes()));
        return shape({cache.size(0), heads[part] * features / together, cache.size(2), together});
    }
};

// Numbers of each head, or for each feature of all.
at::Tensor scaled_into_cache(const at::Tensor& x, const OptTensor& scale, const OptTensor& offset) {
    if (!given(scale)) return x;
    const at::Tensor numbers = to_double(x) / to_double(*scale);
    return eight_bits(given(offset) ? numbers + to_double(*offset) : numbers);
}

void require_split(const at::Tensor& x, at::IntArrayRef splits, const at::Tensor& cache) {
    if (x.dim() != 2 && x.dim() != 3) refuse("x", "2 or 3 dimensions", shape_text(x.sizes()));
    if (cache.dim() != 4) refuse("kCacheRef", "4 dimensions", shape_text(cache.sizes()));
    const int64_t features = cache.size(3), of_keys = cache.size(2) * features;
    const bool fits = features > 0 && features % 2 == 0 && splits[0] % features == 0 && splits[1] == of_keys && splits[2] == of_keys;
    if (!fits || Int128{splits[0]} + splits[1] + splits[2] != x.size(-1))
        refuse("sizeSplits", c10::str("parts of ", x.size(-1), " with heads of ", features), c10::str(splits));
}
Expected heads_of(const at::Tensor& x, int64_t part, const at::Tensor& cache) {
    at::DimVector sizes(x.sizes().slice(0, x.dim() - 1));
    sizes.append({part / cache.size(3), cache.size(3)});
    return at::IntArrayRef(sizes);
}
// From the index of a sequence on, or in the slot of each token.
void put_sequences(const at::Tensor& cache, const at::Tensor& indices, const at::Tensor& rows, int64_t batch, bool paged) {
    if (paged) return put_rows("indices", cache, indices, rows.flatten(0, rows.dim() - 3));
    const at::Tensor sequences = rows.reshape({batch, -1, rows.size(-2), rows.size(-1)});
    const int64_t positions = sequences.size(1);
    require_range("indices", indices, 0, cache.size(1) - positions + 1);
    for (int64_t i = 0; i < batch; i++) cache[i].narrow(0, indices[i].item<int64_t>(), positions).copy_(sequences[i]);
}

std::string_view read_cache_blocks(const char* name, const char* text) {
    return read_choice(name, text, {"PA_NZ"});
}
std::string_view read_static_only(const char* name, const char* text) {
    return read_choice(name, text, {"static"});
}
std::string_view read_heads_layout(const char* name, const char* text) {
    return read_choice(name, text, {"BSND"});
}
std::string_view read_cache_kind(const char* name, const char* text) {
    return read_choice(name, text, {"contiguous", "page"});
}

void require_low_rank(const at::Tensor& y, const at::Tensor& weight, const OptTensor& first, int64_t layer, int64_t offset, int64_t count) {
    if (y.dim() != 2) refuse("y", "2 dimensions", shape_text(y.sizes()));
    if (weight.dim() != 4) refuse("weightB", "4 dimensions", shape_text(weight.sizes()));
    if (first && first->dim() != 4) refuse("weightA", "4 dimensions", shape_text(first->sizes()));
    require_between("layerIdx", layer, 0, weight.size(1) - 1);
    require_between("yOffset", offset, 0, y.size(1) - std::min(count, y.size(1)));
    require_between("ySliceSize", count, 0, y.size(1));
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
using CacheBlocks = Kind<const char*, std::string_view, std::string_view, read_cache_blocks>;
using StaticOnly = Kind<const char*, std::string_view, std::string_view, read_static_only>;
using HeadsLayout = Kind<const char*, std::string_view, std::string_view, read_heads_layout>;
using CacheKind = Kind<const char*, std::string_view, std::string_view, read_cache_kind>;
}  // namespace torch_aclnn::host::aten::kind

#define PARTS                \
    HeadParts {              \
        headNums, qkvSize[3] \
    }
#define OF_HEAD(part) shape({headNums[part], qkvSize[3]})
ATEN_CHECKED_ENTRY(aclnnQkvRmsNormRopeCache, FLOAT16 | BF16, PARTS.require(qkv, qkvSize), (In, qkv), (In, qGamma, shape({qkvSize[3]})),
                   (In, kGamma, shape({qkvSize[3]})), (In, cos, shape({qkv.size(0), qkvSize[3]})), (In, sin, shaped_like(cos)),
                   (Indices, index, shape({qkv.size(0)})), (InOut, qOutRef, PARTS.flat(qkv, 0)),
                   (InOut, kCacheRef, PARTS.cache(kCacheRef, 1)), (InOut, vCacheRef, PARTS.cache(vCacheRef, 2)),
                   (OptIn, kScale, OF_HEAD(1)), (OptIn, vScale, OF_HEAD(2)), (OptIn, kOffset, OF_HEAD(1)), (OptIn, vOffset, OF_HEAD(2)),
                   (PositiveSizes<4>, qkvSize), (PositiveSizes<3>, headNums), (Double, epsilon), (CacheBlocks, cacheMode),
                   (OptOut, qOutBeforeQuant, PARTS.flat(qkv, 0)), (OptOut, kOutBeforeQuant, PARTS.flat(qkv, 1)),
                   (OptOut, vOutBeforeQuant, PARTS.flat(qkv, 2))) {
    const auto normal = [&](int64_t part, const at::Tensor& gamma) {
        return turned(rms_normal(PARTS.of(qkv, part), gamma, epsilon).normal * upcast(gamma), cos.unsqueeze(1), sin.unsqueeze(1));
    };
    const at::Tensor query = normal(0, qGamma), key = normal(1, kGamma), value = PARTS.of(qkv, 2);
    write(qOutRef, query.flatten(1));
    write(qOutBeforeQuant, query.flatten(1));
    write(kOutBeforeQuant, key.flatten(1));
    write(vOutBeforeQuant, value.flatten(1));
    put_rows("index", kCacheRef.transpose(1, 2), index, scaled_into_cache(key, kScale, kOffset));
    put_rows("index", vCacheRef.transpose(1, 2), index, scaled_into_cache(value, vScale, vOffset));
}

// The engine takes no integers that still have to be scaled.
ATEN_CHECKED_ENTRY(aclnnDequantRopeQuantKvcache, FLOAT16 | BF16,
                   (require_not_given("weightScale", weightScale), require_not_given("activationScale", activationScale),
                    require_not_given("bias", bias), require_split(x, sizeSplits, kCacheRef)),
                   (In, x), (In, cos, elements(x.numel() / x.size(-1) * kCacheRef.size(3))), (In, sin, shaped_like(cos)),
                   (InOut, kCacheRef), (InOut, vCacheRef, shaped_like(kCacheRef)), (Indices, indices, rank(1)),
                   (In, scaleK, shape({kCacheRef.size(3)})), (In, scaleV, shape({kCacheRef.size(3)})),
                   (OptIn, offsetK, shape({kCacheRef.size(3)})), (OptIn, offsetV, shape({kCacheRef.size(3)})), (OptIn, weightScale),
                   (OptIn, activationScale), (OptIn, bias), (Sizes<3>, sizeSplits), (StaticOnly, quantMode), (HeadsLayout, layout),
                   (Bool, kvOutput), (CacheKind, cacheMode), (Out, qOut, heads_of(x, sizeSplits[0], kCacheRef)),
                   (OptOut, kOut, if_wanted(kvOutput, heads_of(x, sizeSplits[1], kCacheRef))),
                   (OptOut, vOut, if_wanted(kvOutput, heads_of(x, sizeSplits[2], kCacheRef)))) {
    const int64_t features = kCacheRef.size(3);
    const std::vector<at::Tensor> parts = upcast(x).split_with_sizes(sizeSplits, -1);
    const auto by_head = [&](const at::Tensor& part) { return part.unflatten(-1, at::IntArrayRef{-1, features}); };
    at::DimVector angles(x.sizes().slice(0, x.dim() - 1));
    angles.append({1, features});
    const auto turn = [&](const at::Tensor& part) { return turned(by_head(part), cos.reshape(angles), sin.reshape(angles)); };
    const at::Tensor key = turn(parts[1]), value = by_head(parts[2]);
    write(qOut, turn(parts[0]));
    if (kvOutput) write(kOut, key);
    if (kvOutput) write(vOut, value);
    const auto quantised = [](const at::Tensor& rows, const at::Tensor& scale, const OptTensor& offset) {
        const at::Tensor numbers = to_double(rows) * to_double(scale);
        return eight_bits(offset ? numbers + to_double(*offset) : numbers);
    };
    put_sequences(kCacheRef, indices, quantised(key, scaleK, offsetK), x.size(0), cacheMode == "page");
    put_sequences(vCacheRef, indices, quantised(value, scaleV, offsetV), x.size(0), cacheMode == "page");
}

// Each token's own weights of low rank, added to a part of its features.
ATEN_CHECKED_ENTRY(aclnnAddLora, FLOAT16, require_low_rank(y, weightB, weightA, layerIdx, yOffset, ySliceSize), (In, y),
                   (In, x, shape({y.size(0), weightA ? weightA->size(3) : weightB.size(3)})),
                   (In, weightB, shape({weightB.size(0), weightB.size(1), ySliceSize, weightB.size(3)})),
                   (Indices, indices, shape({y.size(0)})),
                   (OptIn, weightA, shape({weightB.size(0), weightB.size(1), weightB.size(3), weightA ? weightA->size(3) : 0})),
                   (NotNegative, layerIdx), (Double, scale), (NotNegative, yOffset), (NotNegative, ySliceSize), (Out, out, like(y))) {
    require_indices("indices", indices, weightB.size(0));
    const auto of_tokens = [&](const at::Tensor& weight) {
        return upcast(weight.select(1, layerIdx)).index_select(0, indices.to(at::kLong));
    };
    at::Tensor low = upcast(x).unsqueeze(2);
    if (weightA) low = at::matmul(of_tokens(*weightA), low);
    at::Tensor sum = upcast(y).clone();
    sum.narrow(1, yOffset, ySliceSize) += at::matmul(of_tokens(weightB), low).squeeze(2) * scale;
    write(out, sum);
}
