// Counts of values and of ranges of values.
#include <ATen/ATen.h>

#include <cmath>

#include "engine/aten/adapter/adapter.h"
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

// The number of bins is the output's size.
ATEN_ENTRY(aclnnBincount, INTEGRAL, (In, self), (OptIn, weights), (NotNegative, minlength), (Out, out)) {
    out.copy_(at::bincount(self, weights, minlength));
}
ATEN_CHECKED_ENTRY(aclnnHistc, FLOATING | INTEGRAL, require_range(min, max), (In, self), (Positive, bins), (Scalar, min), (Scalar, max),
                   (Out, out)) {
    if (at::isIntegralType(self.scalar_type(), false))
        write(out, histogram(self, min.toDouble(), max.toDouble(), bins));
    else
        write(out, at::histc(upcast(self), bins, min, max));
}
