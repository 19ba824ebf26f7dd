// Softmax of scaled and masked scores, and projections of queries, keys and values that are packed into one tensor.
#include <ATen/ATen.h>

#include <cmath>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/arguments.h"
#include "engine/aten/adapter/results.h"

#define ATEN_FAMILY "transformer"
using namespace torch_aclnn::host::aten;

namespace {

using torch_aclnn::host::refuse;

// Published as not completed.
void require_given_mask(bool fixed_triangle) {
    if (fixed_triangle) refuse("fixedTriuMask", "false", "true");
}

// {batch, heads, tokens, features} of each third of the last dimension.
Expected per_head(const at::Tensor& qkv, int64_t heads) {
    if (qkv.dim() != 3 || qkv.size(2) % 3 != 0 || qkv.size(2) / 3 % heads != 0)
        refuse("qkv", c10::str("3 dimensions, the last one three times that of ", heads, " heads"), shape_text(qkv.sizes()));
    return {at::DimVector{qkv.size(0), heads, qkv.size(1), qkv.size(2) / 3 / heads}, qkv.scalar_type()};
}

}  // namespace

// True in the mask leaves an element out. Where all of a row are left out, all weigh the same.
ATEN_CHECKED_ENTRY(aclnnScaledMaskedSoftmax, FLOATING, require_given_mask(fixedTriuMask), (In, x), (In, mask, broadcasts_to(x)),
                   (Double, scale), (Bool, fixedTriuMask), (Out, y, like(x))) {
    write(y, at::softmax((upcast(x) * scale).masked_fill(as_mask(mask), -10000.0), -1));
}
ATEN_CHECKED_ENTRY(aclnnScaledMaskedSoftmaxBackward, FLOATING, require_given_mask(fixedTriuMask), (In, gradOutput, shaped_like(y)), (In, y),
                   (In, mask, broadcasts_to(y)), (Double, scale), (Bool, fixedTriuMask), (Out, out, like(y))) {
    const at::Tensor of_masked = at::_softmax_backward_data(upcast(gradOutput), upcast(y), -1, upcast(y).scalar_type());
    write(out, of_masked.masked_fill(as_mask(mask), 0) * scale);
}
ATEN_ENTRY(aclnnMaskedSoftmaxWithRelPosBias, FLOATING, (In, x), (OptIn, attenMaskOptional, broadcasts_to(x)),
           (In, relativePosBias, broadcasts_to(x)), (Double, scaleValue), (TrueOrNot, innerPrecisionMode), (Out, y, like(x))) {
    const at::Tensor scores = upcast(x) * scaleValue + upcast(relativePosBias);
    write(y, at::softmax(attenMaskOptional ? scores + upcast(*attenMaskOptional) : scores, -1));
}

// The queries are divided by the root of their number of features.
ATEN_ENTRY(aclnnTransformBiasRescaleQkv, FLOATING, (In, qkv), (In, qkvBias, shape({size_of(qkv, -1)})), (Positive, numHeads),
           (Out, q, per_head(qkv, numHeads)), (Out, k, per_head(qkv, numHeads)), (Out, v, per_head(qkv, numHeads))) {
    const int64_t features = q.size(-1);
    const at::Tensor parts = (upcast(qkv) + upcast(qkvBias)).unflatten(-1, {3, numHeads, features}).permute({2, 0, 3, 1, 4});
    write(q, parts[0] / std::sqrt(static_cast<double>(features)));
    write(k, parts[1]);
    write(v, parts[2]);
}
