// Counts of values and of ranges of values.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/numerics/indices.h"
#include "engine/aten/numerics/results.h"
#include "engine/aten/reduction/histogram.h"
#include "vocabulary/reduction/counting_calls.h"

using namespace torch_aclnn::host::aten;

// The number of bins is the output's size: the caller knows the largest value.
static void compute(const call::Bincount& a) {
    require_indices("self", a.self, a.out.numel());
    write(a.out, at::bincount(a.self, a.weights, a.out.numel()));
}
static void check(const call::Histc& a) {
    const double low = a.min.toDouble(), high = a.max.toDouble();
    if (!std::isfinite(low) || !std::isfinite(high)) refuse("min", "a finite range", c10::str(low, " to ", high));
    if (low > high) refuse("max", c10::str("at least min, ", low), std::to_string(high));
}
static void compute(const call::Histc& a) {
    if (at::isIntegralType(a.self.scalar_type(), false))
        write(a.out, histogram(a.self, a.min.toDouble(), a.max.toDouble(), a.bins));
    else
        write(a.out, at::histc(upcast(a.self), a.bins, a.min, a.max));
}

#include "vocabulary/reduction/counting_rows.inc"
