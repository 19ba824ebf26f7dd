// Softmax of scaled and masked scores, and projections of queries, keys and values that are packed into one tensor.

#include <cmath>

#include "vocabulary/attention/masked_softmax_calls.h"

namespace {

// Splits the last dimension into three tensors of {batch, heads, tokens, features}.
Expected per_head(const at::Tensor& qkv, int64_t heads) {
    if (qkv.dim() != 3 || qkv.size(2) % 3 != 0 || qkv.size(2) / 3 % heads != 0)
        refuse("qkv", c10::str("3 dimensions, the last one three times that of ", heads, " heads"), shape_text(qkv.sizes()));
    return {at::DimVector{qkv.size(0), heads, qkv.size(1), qkv.size(2) / 3 / heads}, qkv.scalar_type()};
}

}  // namespace

static void compute(const call::ScaledMaskedSoftmaxBackward& a) {
    const at::Tensor of_masked = at::_softmax_backward_data(upcast(a.gradOutput), upcast(a.y), -1, upcast(a.y).scalar_type());
    write(a.out, of_masked.masked_fill(as_mask(a.mask), 0) * a.scale);
}
static void compute(const call::MaskedSoftmaxWithRelPosBias& a) {
    const at::Tensor scores = upcast(a.x) * a.scaleValue + upcast(a.relativePosBias);
    write(a.y, at::softmax(a.attenMaskOptional ? scores + upcast(*a.attenMaskOptional) : scores, -1));
}

// The queries are divided by the root of their number of features.
static void compute(const call::TransformBiasRescaleQkv& a) {
    const int64_t features = a.q.size(-1);
    const at::Tensor parts = (upcast(a.qkv) + upcast(a.qkvBias)).unflatten(-1, {3, a.numHeads, features}).permute({2, 0, 3, 1, 4});
    write(a.q, parts[0] / std::sqrt(static_cast<double>(features)));
    write(a.k, parts[1]);
    write(a.v, parts[2]);
}
