// Counts of values and of ranges of values.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/indices.h"
#include "engine/aten/adapter/results.h"
#include "engine/aten/composite/histogram.h"

#define ATEN_FAMILY "counting"
using namespace torch_aclnn::host::aten;

namespace {

void require_range(const at::Scalar& min, const at::Scalar& max) {
    const double low = min.toDouble(), high = max.toDouble();
    if (!std::isfinite(low) || !std::isfinite(high)) torch_aclnn::host::refuse("min", "a finite range", c10::str(low, " to ", high));
    if (low > high) torch_aclnn::host::refuse("max", c10::str("at least min, ", low), std::to_string(high));
}

}  // namespace

// The number of bins is the output's size: the caller knows the largest value.
ATEN_ENTRY(aclnnBincount, INTEGRAL, (In, self, shape({self.numel()})), (OptIn, weights, shaped_like(self)), (NotNegative, minlength),
           (Out, out, shape({std::max(out.numel(), minlength)}))) {
    require_indices("self", self, out.numel());
    write(out, at::bincount(self, weights, out.numel()));
}
ATEN_CHECKED_ENTRY(aclnnHistc, FLOAT | FLOAT16 | INTEGRAL, require_range(min, max), (In, self), (Positive, bins), (Scalar, min),
                   (Scalar, max), (Out, out, shape({bins}))) {
    if (at::isIntegralType(self.scalar_type(), false))
        write(out, histogram(self, min.toDouble(), max.toDouble(), bins));
    else
        write(out, at::histc(upcast(self), bins, min, max));
}
