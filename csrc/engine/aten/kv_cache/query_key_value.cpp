// What makes the queries, keys and values of tokens: parts of one product that are normalised, turned and put into caches, and products
// with small weights of the tokens' own.

#include "engine/aten/kv_cache/cache_rows.h"
#include "engine/aten/numerics/rms_norm.h"
#include "engine/aten/quantization/packed_integers.h"
#include "vocabulary/kv_cache/query_key_value_calls.h"

namespace {

// The first half of the features is paired with the second.
at::Tensor turned(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin) {
    const std::vector<at::Tensor> halves = x.chunk(2, -1);
    return x * upcast(cos) + at::cat({-halves[1], halves[0]}, -1) * upcast(sin);
}

at::Tensor eight_bits(const at::Tensor& numbers) {
    return at::round(numbers).clamp(-128, 127);
}

// The features of the heads of queries, keys and values, and where each begins.
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
    // The cache has blocks of features, each with all positions of a block.
    Expected cache(const at::Tensor& cache, int64_t part) const {
        const int64_t together = cache.dim() == 4 ? cache.size(3) : 0;
        if (together == 0 || features % together != 0)
            refuse("kCacheRef", c10::str("blocks of the ", features, " features"), shape_text(cache.sizes()));
        return shape({cache.size(0), heads[part] * features / together, cache.size(2), together});
    }
};

// The scales are those of each head, or of each feature of all heads.
at::Tensor scaled_into_cache(const at::Tensor& x, const OptTensor& scale, const OptTensor& offset) {
    if (!given(scale)) return x;
    return eight_bits(scaled(to_double(x), *scale, offset, true));
}

Expected heads_of(const at::Tensor& x, int64_t part, const at::Tensor& cache) {
    at::DimVector sizes(x.sizes().slice(0, x.dim() - 1));
    sizes.append({part / cache.size(3), cache.size(3)});
    return at::IntArrayRef(sizes);
}
// Writes rows from the index of each sequence on or, in a paged cache, into the slot of each token.
void put_sequences(const at::Tensor& cache, const at::Tensor& indices, const at::Tensor& rows, int64_t batch, bool paged) {
    if (paged) return put_rows("indices", cache, indices, rows.flatten(0, rows.dim() - 3));
    const at::Tensor sequences = rows.reshape({batch, -1, rows.size(-2), rows.size(-1)});
    const int64_t positions = sequences.size(1);
    require_range("indices", indices, 0, cache.size(1) - positions + 1);
    for (int64_t i = 0; i < batch; i++) cache[i].narrow(0, indices[i].item<int64_t>(), positions).copy_(sequences[i]);
}

}  // namespace

static HeadParts head_parts(const auto& a) {
    return {a.headNums, a.qkvSize[3]};
}

static void compute(const call::QkvRmsNormRopeCache& a) {
    const auto normal = [&](int64_t part, const at::Tensor& gamma) {
        return turned(rms_normal(head_parts(a).of(a.qkv, part), gamma, a.epsilon).normal * upcast(gamma), a.cos.unsqueeze(1),
                      a.sin.unsqueeze(1));
    };
    const at::Tensor query = normal(0, a.qGamma), key = normal(1, a.kGamma), value = head_parts(a).of(a.qkv, 2);
    write(a.qOutRef, query.flatten(1));
    write(a.qOutBeforeQuant, query.flatten(1));
    write(a.kOutBeforeQuant, key.flatten(1));
    write(a.vOutBeforeQuant, value.flatten(1));
    put_rows("index", a.kCacheRef.transpose(1, 2), a.index, scaled_into_cache(key, a.kScale, a.kOffset));
    put_rows("index", a.vCacheRef.transpose(1, 2), a.index, scaled_into_cache(value, a.vScale, a.vOffset));
}

// The engine takes no integers that still have to be scaled.
static void check(const call::DequantRopeQuantKvcache& a) {
    require_not_given({{"weightScale", a.weightScale}, {"activationScale", a.activationScale}, {"bias", a.bias}});
    const at::IntArrayRef splits = a.sizeSplits;
    const int64_t features = a.kCacheRef.size(3), of_keys = a.kCacheRef.size(2) * features;
    const bool fits = features > 0 && features % 2 == 0 && splits[0] % features == 0 && splits[1] == of_keys && splits[2] == of_keys;
    if (!fits || Int128{splits[0]} + splits[1] + splits[2] != a.x.size(-1))
        refuse("sizeSplits", c10::str("parts of ", a.x.size(-1), " with heads of ", features), c10::str(splits));
}
static void compute(const call::DequantRopeQuantKvcache& a) {
    const int64_t features = a.kCacheRef.size(3);
    const std::vector<at::Tensor> parts = upcast(a.x).split_with_sizes(a.sizeSplits, -1);
    const auto by_head = [&](const at::Tensor& part) { return part.unflatten(-1, at::IntArrayRef{-1, features}); };
    at::DimVector angles(a.x.sizes().slice(0, a.x.dim() - 1));
    angles.append({1, features});
    const auto turn = [&](const at::Tensor& part) { return turned(by_head(part), a.cos.reshape(angles), a.sin.reshape(angles)); };
    const at::Tensor key = turn(parts[1]), value = by_head(parts[2]);
    write(a.qOut, turn(parts[0]));
    if (a.kvOutput) write(a.kOut, key);
    if (a.kvOutput) write(a.vOut, value);
    const auto quantised = [](const at::Tensor& rows, const at::Tensor& scale, const OptTensor& offset) {
        return eight_bits(scaled(to_double(rows), scale, offset, false));
    };
    put_sequences(a.kCacheRef, a.indices, quantised(key, a.scaleK, a.offsetK), a.x.size(0), a.cacheMode == "page");
    put_sequences(a.vCacheRef, a.indices, quantised(value, a.scaleV, a.offsetV), a.x.size(0), a.cacheMode == "page");
}

// Each token has its own weights of low rank; their product is added to a part of the token's features.
static void check(const call::AddLora& a) {
    require_rank("weightB", a.weightB.sizes(), rank(4));
    if (a.weightA) require_rank("weightA", a.weightA->sizes(), rank(4));
    require_between("layerIdx", a.layerIdx, 0, a.weightB.size(1) - 1);
    require_between("yOffset", a.yOffset, 0, a.y.size(1) - std::min(a.ySliceSize, a.y.size(1)));
    require_between("ySliceSize", a.ySliceSize, 0, a.y.size(1));
}
static void compute(const call::AddLora& a) {
    require_indices("indices", a.indices, a.weightB.size(0));
    const auto of_tokens = [&](const at::Tensor& weight) {
        return upcast(weight.select(1, a.layerIdx)).index_select(0, a.indices.to(at::kLong));
    };
    at::Tensor low = upcast(a.x).unsqueeze(2);
    if (a.weightA) low = at::matmul(of_tokens(*a.weightA), low);
    at::Tensor sum = upcast(a.y).clone();
    sum.narrow(1, a.yOffset, a.ySliceSize) += at::matmul(of_tokens(a.weightB), low).squeeze(2) * a.scale;
    write(a.out, sum);
}
