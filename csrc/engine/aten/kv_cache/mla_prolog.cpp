// What comes before a multi-head latent attention: the queries of each token, by way of few features, and what the caches of keys get,
// with and without rope. The engine has no quantised form of it.

#include "engine/aten/kv_cache/cache_rows.h"
#include "engine/aten/numerics/rms_norm.h"
#include "engine/aten/quantization/packed_integers.h"
#include "vocabulary/kv_cache/mla_prolog_calls.h"

namespace {

// The features in even and in odd places become halves, which turn by the angles.
at::Tensor turned_pairs(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin) {
    const at::Tensor even = x.slice(-1, 0, std::nullopt, 2), odd = x.slice(-1, 1, std::nullopt, 2);
    return at::cat({even, odd}, -1) * cos + at::cat({-odd, even}, -1) * sin;
}

struct Prolog {
    const call::MlaPrologV2WeightNz& a;
    double query_scale = 1, key_scale = 1;
    const at::Tensor &x = a.tokenX, &up_key = a.weightUk, &gamma = a.rmsnormGammaCq, &cache_gamma = a.rmsnormGammaCkv;
    const at::Tensor &sin = a.ropeSin, &cos = a.ropeCos;
    const OptTensor& slots = a.cacheIndex;
    std::string_view mode = a.cacheMode;

    int64_t heads() const { return up_key.size(0); }
    int64_t latent() const { return up_key.size(2); }
    int64_t rope() const { return sin.size(-1); }
    bool indexed() const { return mode.substr(0, 2) == "PA"; }
    // The shape has the dimensions of the tokens, and others behind them.
    Expected of_tokens(std::initializer_list<int64_t> sizes) const {
        Expected expected{x.sizes().slice(0, x.dim() - 1)};
        expected.sizes.append(sizes);
        return expected;
    }
    Expected cache(const at::Tensor& cache, int64_t features) const {
        if (!indexed()) return of_tokens({1, features});
        if (cache.dim() != 4) refuse("kvCacheRef", "4 dimensions", shape_text(cache.sizes()));
        if (mode == "PA_NZ" && features % 16 != 0) refuse("kvCacheRef", "a multiple of 16 features for PA_NZ", shape_text(cache.sizes()));
        return shape({cache.size(0), cache.size(1), 1, features});
    }
    void require() const {
        if (x.dim() != 2 && x.dim() != 3) refuse("tokenX", "2 or 3 dimensions", shape_text(x.sizes()));
        if (up_key.dim() != 3) refuse("weightUk", "3 dimensions", shape_text(up_key.sizes()));
        if (sin.dim() != x.dim() || rope() % 2 != 0)
            refuse("ropeSin", c10::str(x.dim(), " dimensions, the last even"), shape_text(sin.sizes()));
        if (indexed() && !slots) refuse_null("cacheIndex", c10::str("for the cache mode ", mode));
        if (mode != (x.dim() == 2 ? "TND" : "BSND") && !indexed()) refuse("cacheMode", x.dim() == 2 ? "TND" : "BSND", std::string(mode));
    }
    void store(const at::Tensor& cache, const at::Tensor& rows) const {
        if (!indexed()) return void(at::Tensor(cache).copy_(rows.reshape(cache.sizes())));
        if (mode == "PA_BSND") return put_rows("cacheIndex", cache, *slots, rows);
        put_rows("cacheIndex", cache.view({cache.size(0), -1, cache.size(1), 16}).transpose(1, 2), *slots, rows);
    }
    void run(const at::Tensor& kv_cache, const at::Tensor& kr_cache, const at::Tensor& query, const at::Tensor& query_rope,
             const OptTensor& norm) const {
        const auto weight = [](const PackableTensor& tensor) { return upcast(tensor.values()); };
        const at::Tensor tokens = upcast(x).flatten(0, -2), s = upcast(sin).flatten(0, -2), c = upcast(cos).flatten(0, -2);
        const RmsNormal normal = rms_normal(at::matmul(tokens, weight(a.weightDq)), gamma, a.rmsnormEpsilonCq);
        const at::Tensor few = normal.normal * upcast(gamma) * query_scale;
        const at::Tensor wide = at::matmul(few, weight(a.weightUqQr)).unflatten(1, at::IntArrayRef{heads(), up_key.size(1) + rope()});
        const at::Tensor plain = wide.narrow(2, 0, up_key.size(1)), rest = wide.narrow(2, up_key.size(1), rope());
        const auto give = [](const at::Tensor& out, const at::Tensor& result) { out.copy_(result.reshape(out.sizes())); };
        give(query, at::matmul(plain.transpose(0, 1), upcast(up_key)).transpose(0, 1));
        give(query_rope, turned_pairs(rest, c.unsqueeze(1), s.unsqueeze(1)));
        if (norm) give(*norm, few);
        const at::Tensor keys = at::matmul(tokens, weight(a.weightDkvKr)), low = keys.narrow(1, 0, latent());
        store(kv_cache, rms_normal(low, cache_gamma, a.rmsnormEpsilonCkv).normal * upcast(cache_gamma) * key_scale);
        store(kr_cache, turned_pairs(keys.narrow(1, latent(), rope()), c, s));
    }
};

}  // namespace

// Nothing is written to the scales of what is not quantised.
static void check(const call::MlaPrologV2WeightNz& a) {
    require_not_given("dequantScaleX", a.dequantScaleX, "dequantScaleWDq", a.dequantScaleWDq, "dequantScaleWUqQr", a.dequantScaleWUqQr,
                      "dequantScaleWDkvKr", a.dequantScaleWDkvKr, "quantScaleCkv", a.quantScaleCkv, "quantScaleCkr", a.quantScaleCkr,
                      "smoothScalesCq", a.smoothScalesCq, "actualSeqLen", a.actualSeqLen, "kNopeClipAlpha", a.kNopeClipAlpha);
    Prolog{a}.require();
}
