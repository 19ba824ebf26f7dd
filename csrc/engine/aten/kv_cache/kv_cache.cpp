// Caches of keys and values in pages: {blocks, positions of a block, ...}, where the slot of a token is block * positions + position.

#include "engine/aten/kv_cache/cache_rows.h"
#include "engine/aten/numerics/rms_norm.h"
#include "engine/aten/quantization/packed_integers.h"
#include "vocabulary/kv_cache/kv_cache_calls.h"

// Returns the cache as {blocks, positions, ...}. As NZ it is {blocks, features / c, positions, c}, with c features together.
static at::Tensor by_position(const at::Tensor& cache, std::string_view mode) {
    return mode == "PA_NZ" ? cache.transpose(1, 2) : cache;
}

static void require_cache(const char* name, const at::Tensor& cache, const char* rows_name, const at::Tensor& rows, std::string_view mode) {
    const int64_t features = mode == "PA_NZ" ? cache.size(1) * cache.size(3) : cache.size(2) * cache.size(3);
    if (features != rows.size(1) * rows.size(2))
        refuse(name, c10::str("rows of ", rows.size(1) * rows.size(2), " features, as ", rows_name, " has"), shape_text(cache.sizes()));
}

// The rows of sequences, one below the other. Where a table names no block, they are zeros.
static void load(const at::Tensor& cache, const at::Tensor& tables, const at::Tensor& lengths, const OptTensor& offsets, at::Tensor& out) {
    const int64_t positions = cache.size(1), blocks = cache.size(0);
    const at::Tensor counts = lengths.to(at::kLong), starts = given(offsets) ? offsets->to(at::kLong) : at::zeros_like(counts);
    int64_t first = 0;
    out.zero_();
    // ATen moves no unsigned integers of more than a byte, and the bits are all that matters.
    const at::Tensor from = as_signed(cache), to = as_signed(out);
    for (int64_t i = 0; i < tables.size(0); i++) {
        const int64_t count = std::min(counts[i].item<int64_t>(), out.size(0) - first);
        if (count <= 0) continue;
        const int64_t start = starts[i].item<int64_t>() / positions;
        const at::Tensor numbers = at::arange(count, at::kLong), columns = start + numbers.floor_divide(positions);
        const at::Tensor table = tables.select(0, i).to(at::kLong), inside = columns.lt(table.size(0));
        const at::Tensor ids = table.index_select(0, columns.clamp_max(table.size(0) - 1));
        const at::Tensor named = at::nonzero(inside.logical_and(ids.ge(0)).logical_and(ids.lt(blocks))).squeeze(1);
        const at::Tensor rows = from.index({ids.index_select(0, named), numbers.remainder(positions).index_select(0, named)});
        to.narrow(0, first, count).index_put_({named}, rows.reshape(with_rows(out, named.numel()).sizes));
        first += count;
    }
}

// The shape of the rows of all sequences, whose number no other argument tells. A row is what a position of the cache has.
static Elements loaded(const char* name, const at::Tensor& out, const at::Tensor& cache, std::string_view mode) {
    if (cache.dim() < 2 || out.dim() < 1) refuse(name, "at least 1 dimension, for a cache of at least 2", shape_text(out.sizes()));
    const at::Tensor positions = by_position(cache, mode);
    if (positions.size(1) == 0) refuse(name, "a cache with positions in each block", shape_text(cache.sizes()));
    const int64_t features = c10::multiply_integers(positions.sizes().slice(2));
    if (out.size(0) > 0 && out.numel() / out.size(0) != features)
        refuse(name, c10::str("rows of ", features, " elements, as the cache has"), shape_text(out.sizes()));
    return as_many_as(out);
}

// Stores rows of features as a latent cache has them: in the features' layout, and in their 8-bit form where there is a scale.
static void store_latent(const at::Tensor& cache, std::string_view mode, const at::Tensor& slots, const at::Tensor& rows,
                         const OptTensor& scale, const OptTensor& offset) {
    at::Tensor numbers = rows;
    if (given(scale)) numbers = at::round(scaled(to_double(rows), *scale, offset, false)).clamp(-128, 127);
    if (mode == "Norm") return put_rows("index", cache.flatten(1, 2), slots, numbers);  // {batch, 1, positions, features}
    const int64_t together = given(scale) ? 32 : 16;
    if (mode != "PA_NZ" && mode != "PA_BLK_NZ") return put_rows("index", cache, slots, numbers);
    put_rows("index", cache.view({cache.size(0), -1, cache.size(1), together}).transpose(1, 2), slots, numbers);
}

// Returns the slot of each token. In modes with BLK the index names the first slot of each block of a sequence.
static at::Tensor latent_slots(const at::Tensor& index, std::string_view mode, int64_t batch, int64_t tokens, int64_t positions) {
    const at::Tensor numbers = at::arange(tokens, at::kLong);
    if (mode == "Norm") {
        const at::Tensor own = index.to(at::kLong).view({batch, tokens});
        return at::where(own.lt(0), own, own + positions * at::arange(batch, at::kLong).unsqueeze(1));
    }
    if (mode.find("BLK") == std::string_view::npos) return index;
    const at::Tensor pages = index.to(at::kLong).view({batch, -1}).index_select(1, numbers.floor_divide(positions));
    return at::where(pages.lt(0), pages, pages.floor_divide(positions) * positions + numbers.remainder(positions));
}

// A cache of one head is addressed by sequence and position, or by block and position in the block.
static Expected latent_cache(const at::Tensor& kv, const at::Tensor& cache, std::string_view mode) {
    if (mode == "Norm") return shape({kv.size(0), 1, cache.size(2), cache.size(3)});
    return shape({cache.size(0), cache.size(1), 1, cache.size(3)});
}

// The angles are given for each token and feature, or broadcast.
static BroadcastsTo angles(const at::Tensor& kv, const at::Tensor& k_cache) {
    return broadcasts_to(shape({kv.size(0), 1, kv.size(2), k_cache.size(3)}));
}

// There is a slot for each token, or for each block of a sequence, the last of which may have fewer tokens.
static Elements slots(const at::Tensor& kv, std::string_view mode, const at::Tensor& k_cache) {
    const int64_t tokens = kv.size(2), positions = k_cache.size(1);
    if (mode.find("BLK") == std::string_view::npos) return elements(kv.size(0) * tokens);
    if (positions == 0) refuse("kCacheRef", "positions in each block", shape_text(k_cache.sizes()));
    return elements(kv.size(0) * ((tokens + positions - 1) / positions));
}

// Neighbouring features become halves, and each pair turns by its angle.
static at::Tensor rotated(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin) {
    const at::Tensor halves = x.unflatten(-1, at::IntArrayRef{-1, 2}).transpose(-1, -2).flatten(-2);
    const std::vector<at::Tensor> parts = halves.chunk(2, -1);
    return halves * upcast(cos) + at::cat({-parts[1], parts[0]}, -1) * upcast(sin);
}

// Parts have the shape of the first one's logarithms, and features behind.
static std::vector<Expected> parts(at::TensorList lse, at::IntArrayRef features) {
    Expected expected = shaped_like(lse[0]);
    expected.sizes.append(features.begin(), features.end());
    return std::vector<Expected>(lse.size(), expected);
}
static at::IntArrayRef feature_dims(at::TensorList parts) {
    if (parts.empty() || parts[0].dim() == 0) refuse("localOut", "a dimension of features", "none");
    return parts[0].sizes().slice(parts[0].dim() - 1);
}

static void check(const call::ScatterPaKvCache& a) {
    require_not_given({{"compressLens", a.compressLens}, {"compressSeqOffsets", a.compressSeqOffsets}, {"seqLens", a.seqLens}});
    require_cache("keyCacheRef", a.keyCacheRef, "key", a.key, a.cacheMode);
    require_cache("valueCacheRef", a.valueCacheRef, "value", a.value, a.cacheMode);
}
static void compute(const call::ScatterPaKvCache& a) {
    put_rows("slotMapping", by_position(a.keyCacheRef, a.cacheMode), a.slotMapping, a.key);
    put_rows("slotMapping", by_position(a.valueCacheRef, a.cacheMode), a.slotMapping, a.value);
}
static void compute(const call::GatherPaKvCache& a) {
    const at::Tensor lengths = a.isSeqLensCumsum ? at::diff(a.seqLens.flatten()) : a.seqLens.flatten();
    load(by_position(a.keyCache, a.cacheMode), a.blockTables, lengths, a.seqOffset, a.keyRef);
    load(by_position(a.valueCache, a.cacheMode), a.blockTables, lengths, a.seqOffset, a.valueRef);
}

static void check(const call::KvRmsNormRopeCache& a) {
    require_not_given("v", a.v);
    require_rank("kCacheRef", a.kCacheRef.sizes(), rank(4));
    require_rank("ckvCacheRef", a.ckvCacheRef.sizes(), rank(4));
    require_even({"kCacheRef", a.kCacheRef}, 3);
}
static void compute(const call::KvRmsNormRopeCache& a) {
    const at::Tensor x = upcast(a.kv), &cache = a.kCacheRef;
    const int64_t latent = a.gamma.size(0), positions = cache.size(a.cacheMode == "Norm" ? 2 : 1);
    const at::Tensor normal = rms_normal(x.narrow(3, 0, latent), a.gamma, a.epsilon).normal * upcast(a.gamma);
    const at::Tensor turned = rotated(x.narrow(3, latent, cache.size(3)), a.cos, a.sin);
    const at::Tensor slots = latent_slots(a.index, a.cacheMode, x.size(0), x.size(2), positions);
    store_latent(cache, a.cacheMode, slots, turned.flatten(0, 2), a.kRopeScale, a.kRopeOffset);
    store_latent(a.ckvCacheRef, a.cacheMode, slots, normal.flatten(0, 2), a.cKvScale, a.cKvOffset);
    if (!a.isOutputKv) return;
    write(a.kRopeOut, turned);
    write(a.cKvOut, normal);
}

// Writes from the index on along the axis, in each row of a batch or in those that the first column of indices names.
static void compute(const call::InplaceScatterUpdate& a) {
    const int64_t dim = a.axis < 0 ? a.axis + a.data.dim() : a.axis, count = a.updates.size(dim);
    const bool by_batch = a.indices.dim() == 2;
    require_indices("indices", by_batch ? a.indices.select(1, 1) : a.indices, a.data.size(dim) - count + 1);
    if (by_batch) require_indices("indices", a.indices.select(1, 0), a.data.size(0));
    for (int64_t i = 0; i < a.indices.size(0); i++) {
        const at::Tensor place = a.indices[i];
        const int64_t row = place.dim() == 0 ? i : place[0].item<int64_t>(), first = (place.dim() == 0 ? place : place[1]).item<int64_t>();
        a.data.narrow(0, row, 1).narrow(dim, first, count).copy_(a.updates.narrow(0, i, 1));
    }
}

// The results of attention over parts of the keys become one: each counts by its share of the sum of exponentials.
static void compute(const call::AttentionUpdate& a) {
    const at::Tensor parts = at::stack(a.lse), whole = at::logsumexp(parts, {0});
    at::Tensor sum = at::zeros(a.out.sizes(), at::kFloat);
    for (size_t i = 0; i < a.localOut.size(); i++) sum += upcast(a.localOut[i]) * at::exp(a.lse[i] - whole).unsqueeze(-1);
    write(a.out, sum);
    if (a.updateType == 1) write(a.lseOut, whole);
}
