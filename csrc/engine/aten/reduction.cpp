// Reductions and scans. Results take the dtype of the output that the caller made; half types accumulate in float32.
#include <ATen/ATen.h>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/arguments.h"
#include "engine/aten/adapter/results.h"

#define ATEN_FAMILY "reduction"
using torch_aclnn::host::aten::all_if_empty;
using torch_aclnn::host::aten::every_dim_if_empty;
using torch_aclnn::host::aten::upcast;
using torch_aclnn::host::aten::write;

// ATen multiplies half types in the half type.
static at::ScalarType product_type(const at::Tensor& out) {
    return at::isReducedFloatingType(out.scalar_type()) ? at::kFloat : out.scalar_type();
}

static at::IntArrayRef dims_or_all(const std::optional<std::vector<int64_t>>& dims) {
    return dims ? at::IntArrayRef(*dims) : at::IntArrayRef();
}

// The sums of what is in front of each element along the dimension, with the element itself or without it.
static at::Tensor cumulated(const at::Tensor& self, int64_t dim, bool exclusive, bool reverse) {
    const at::Tensor rows = self.dim() == 0 ? self.reshape({1}) : upcast(reverse ? self.flip(dim) : self);
    at::Tensor sums = at::cumsum(rows, dim, rows.scalar_type());
    if (exclusive && sums.size(dim) > 0)
        sums = at::cat({at::zeros_like(sums.narrow(dim, 0, 1)), sums.narrow(dim, 0, sums.size(dim) - 1)}, dim);
    return reverse ? sums.flip(dim) : sums;
}

ATEN_ENTRY(aclnnReduceSum, NUMBERS, (In, self), (Dims, dims), (Bool, keepDims), (DType, dtype), (Out, out, reduced(self, dims, keepDims))) {
    at::sum_out(out, self, all_if_empty(dims), keepDims, out.scalar_type());
}
ATEN_ENTRY(aclnnReduceNansum, FLOATING | INTEGRAL | BOOL, (In, self), (Dims, dims), (Bool, keepDims), (DType, dtype),
           (Out, out, reduced(self, dims, keepDims))) {
    at::nansum_out(out, self, all_if_empty(dims), keepDims, out.scalar_type());
}
ATEN_ENTRY(aclnnMean, REAL | COMPLEX, (In, self), (Dims, dim), (Bool, keepDim), (DType, dtype), (Out, out, reduced(self, dim, keepDim))) {
    at::mean_out(out, self, all_if_empty(dim), keepDim, out.scalar_type());
}
ATEN_ENTRY(aclnnMeanV2, REAL | COMPLEX, (In, self), (Dims, dim), (Bool, keepDim), (Bool, noopWithEmptyAxes),
           (Out, out, noopWithEmptyAxes&& dim.empty() ? like(self) : reduced(self, dim, keepDim))) {
    if (noopWithEmptyAxes && dim.empty()) return write(out, self);
    const bool is_integral = c10::isIntegralType(self.scalar_type(), true);
    out.copy_(at::mean(is_integral ? self.to(at::kDouble) : upcast(self), all_if_empty(dim), keepDim));
}
ATEN_ENTRY(aclnnReduceLogSum, FLOAT | FLOAT16, (In, data), (Dims, axes), (Bool, keepDims), (Bool, noopWithEmptyAxes),
           (Out, reduce, noopWithEmptyAxes&& axes.empty() ? like(data) : reduced(data, axes, keepDims))) {
    if (noopWithEmptyAxes && axes.empty()) return write(reduce, data);
    write(reduce, at::log(at::sum(upcast(data), all_if_empty(axes), keepDims)));
}
ATEN_ENTRY(aclnnProd, NUMBERS, (In, self), (DType, dtype), (Out, out, one_value())) {
    out.copy_(at::prod(self, product_type(out)));
}
ATEN_ENTRY(aclnnProdDim, NUMBERS, (In, self), (Dim, dim), (Bool, keepDim), (DType, dtype), (Out, out, reduced(self, dim, keepDim))) {
    out.copy_(at::prod(self, dim, keepDim, product_type(out)));
}
ATEN_ENTRY(aclnnLogSumExp, FLOATING | INTEGRAL | BOOL, (In, self), (Dims, dims), (Bool, keepDim),
           (Out, out, reduced(self, dims, keepDim))) {
    out.copy_(at::logsumexp(upcast(self), every_dim_if_empty(dims, self), keepDim));
}
ATEN_ENTRY(aclnnTrace, NUMBERS, (In, self, rank(2)), (Out, out, one_value())) {
    out.copy_(at::trace(self));
}

// Extremes.
ATEN_ENTRY(aclnnMax, REAL | BOOL, (In, self), (Out, out, chosen(self, {}, false))) {
    out.copy_(at::max(self));
}
ATEN_ENTRY(aclnnMin, REAL | BOOL, (In, self), (Out, out, chosen(self, {}, false))) {
    out.copy_(at::min(self));
}
ATEN_ENTRY(aclnnAmax, REAL | BOOL, (In, self), (Dims, dim), (Bool, keepDim), (Out, out, chosen(self, dim, keepDim))) {
    at::amax_out(out, self, dim, keepDim);
}
ATEN_ENTRY(aclnnMaxV2, REAL | BOOL, (In, self), (Dims, dims), (Bool, keepDims), (Bool, noopWithEmptyDims),
           (Out, out, noopWithEmptyDims&& dims.empty() ? like(self) : chosen(self, dims, keepDims))) {
    if (noopWithEmptyDims && dims.empty()) return write(out, self);
    at::amax_out(out, self, dims, keepDims);
}
ATEN_ENTRY(aclnnAmin, REAL | BOOL, (In, self), (Dims, dim), (Bool, keepDim), (Out, out, chosen(self, dim, keepDim))) {
    at::amin_out(out, self, dim, keepDim);
}
ATEN_ENTRY(aclnnMaxDim, FLOATING | INT32 | INT64 | BOOL, (In, self), (Dim, dim), (Bool, keepDim), (Out, out, chosen(self, dim, keepDim)),
           (IndicesOut, indices, reduced(self, dim, keepDim))) {
    at::max_out(out, indices, self, dim, keepDim);
}
ATEN_ENTRY(aclnnMinDim, FLOATING | INT32 | INT64 | BOOL, (In, self), (Dim, dim), (Bool, keepDim), (Out, out, chosen(self, dim, keepDim)),
           (IndicesOut, indices, reduced(self, dim, keepDim))) {
    at::min_out(out, indices, self, dim, keepDim);
}
ATEN_ENTRY(aclnnArgMax, REAL, (In, self), (Dim, dim), (Bool, keepdim), (Out, out, chosen(self, dim, keepdim))) {
    out.copy_(at::argmax(self, dim, keepdim));
}
ATEN_ENTRY(aclnnArgMin, REAL, (In, self), (Dim, dim), (Bool, keepdim), (Out, out, chosen(self, dim, keepdim))) {
    out.copy_(at::argmin(self, dim, keepdim));
}
ATEN_ENTRY(aclnnAminmax, REAL | BOOL, (In, self), (Dims, dim), (Bool, keepdim), (Out, minOut, chosen(self, dim, keepdim)),
           (Out, maxOut, reduced(self, dim, keepdim))) {
    at::amin_out(minOut, self, dim, keepdim);
    at::amax_out(maxOut, self, dim, keepdim);
}
ATEN_ENTRY(aclnnAminmaxAll, REAL | BOOL, (In, self), (Out, minOut, chosen(self, {}, false)), (Out, maxOut, one_value())) {
    at::aminmax_out(minOut, maxOut, self);
}
ATEN_ENTRY(aclnnAminmaxDim, REAL | BOOL, (In, self), (Dim, dim), (Bool, keepdim), (Out, minOut, chosen(self, dim, keepdim)),
           (Out, maxOut, reduced(self, dim, keepdim))) {
    at::aminmax_out(minOut, maxOut, self, dim, keepdim);
}

// Truth.
ATEN_ENTRY(aclnnAny, REAL | BOOL, (In, self), (Dims, dim), (Bool, keepdim), (Out, out, reduced(self, dim, keepdim))) {
    out.copy_(at::any(self, all_if_empty(dim), keepdim));
}
ATEN_ENTRY(aclnnAll, REAL | BOOL, (In, self), (Dims, dim), (Bool, keepdim), (Out, out, reduced(self, dim, keepdim))) {
    out.copy_(at::all(self, all_if_empty(dim), keepdim));
}

// Norms and moments.
ATEN_ENTRY(aclnnNorm, FLOATING, (In, self), (Scalar, pScalar), (Dims, dim), (Bool, keepDim), (Out, out, reduced(self, dim, keepDim))) {
    at::linalg_vector_norm_out(out, self, pScalar, all_if_empty(dim), keepDim, out.scalar_type());
}
ATEN_ENTRY(aclnnLinalgVectorNorm, FLOATING, (In, self), (Scalar, ord), (Dims, dims), (Bool, keepDims), (DType, dtype),
           (Out, out, reduced(self, dims, keepDims))) {
    at::linalg_vector_norm_out(out, self, ord, all_if_empty(dims), keepDims, out.scalar_type());
}
// Scales what is longer than maxNorm down to it. Its output may be its input.
ATEN_ENTRY(aclnnRenorm, FLOATING, (In, self, rank_from(2)), (PositiveScalar, p), (Dim, dim), (NotNegativeScalar, maxNorm),
           (Out, out, like(self))) {
    out.copy_(at::renorm(upcast(self), p, dim, maxNorm));
}
ATEN_ENTRY(aclnnInplaceRenorm, FLOATING, (InOut, selfRef, rank_from(2)), (PositiveScalar, p), (Dim, dim), (NotNegativeScalar, maxNorm)) {
    selfRef.copy_(at::renorm(upcast(selfRef), p, dim, maxNorm));
}
ATEN_ENTRY(aclnnStd, FLOATING, (In, self), (Dims, dim), (Int, correction), (Bool, keepdim), (Out, out, reduced(self, dim, keepdim))) {
    at::std_out(out, self, all_if_empty(dim), at::Scalar(correction), keepdim);
}
ATEN_ENTRY(aclnnVarCorrection, FLOATING, (In, self), (Dims, dim), (Int, correction), (Bool, keepdim),
           (Out, out, reduced(self, dim, keepdim))) {
    at::var_out(out, self, all_if_empty(dim), at::Scalar(correction), keepdim);
}
ATEN_ENTRY(aclnnVar, FLOATING, (In, self), (OptDims, dim), (Bool, unbiased), (Bool, keepdim),
           (Out, out, reduced(self, dims_or_all(dim), keepdim))) {
    at::var_out(out, self, all_if_empty(dims_or_all(dim)), at::Scalar(int64_t{unbiased}), keepdim);
}
ATEN_ENTRY(aclnnVarMean, FLOATING, (In, self), (Dims, dim), (Int, correction), (Bool, keepdim), (Out, varOut, reduced(self, dim, keepdim)),
           (Out, meanOut, reduced(self, dim, keepdim))) {
    const auto [variance, mean] = at::var_mean(self, all_if_empty(dim), at::Scalar(correction), keepdim);
    varOut.copy_(variance);
    meanOut.copy_(mean);
}
ATEN_ENTRY(aclnnStdMeanCorrection, FLOATING, (In, self), (OptDims, dim), (Int, correction), (Bool, keepdim),
           (Out, stdOut, reduced(self, dims_or_all(dim), keepdim)), (Out, meanOut, reduced(self, dims_or_all(dim), keepdim))) {
    const auto [deviation, mean] = at::std_mean(self, all_if_empty(dims_or_all(dim)), at::Scalar(correction), keepdim);
    stdOut.copy_(deviation);
    meanOut.copy_(mean);
}

// Scans. The output may be the input's memory, and a scan reads what it has written.
ATEN_ENTRY(aclnnCumsum, REAL | COMPLEX, (In, self), (Dim, dim), (DType, dtype), (Out, out, shaped_like(self))) {
    out.copy_(at::cumsum(self, dim, out.scalar_type()));
}
ATEN_ENTRY(aclnnCumsumV2, REAL | COMPLEX, (In, self), (Dim, dim), (Bool, exclusive), (Bool, reverse), (Out, out, like(self))) {
    write(out, cumulated(self, dim, exclusive, reverse));
}
ATEN_CHECKED_ENTRY(aclnnCumprod, NUMBERS, require_dim("dim", dim.toLong(), self.dim()), (In, self), (Scalar, dim), (DType, dtype),
                   (Out, out, shaped_like(self))) {
    out.copy_(at::cumprod(self, dim.toLong(), product_type(out)));
}
ATEN_CHECKED_ENTRY(aclnnInplaceCumprod, NUMBERS, require_dim("dim", dim.toLong(), selfRef.dim()), (InOut, selfRef), (Scalar, dim)) {
    selfRef.copy_(at::cumprod(selfRef, dim.toLong(), product_type(selfRef)));
}
ATEN_ENTRY(aclnnCummax, REAL | BOOL, (In, self), (Dim, dim), (Out, valuesOut, like(self)), (Out, indicesOut, shaped_like(self))) {
    const auto [values, indices] = at::cummax(self, dim);
    valuesOut.copy_(values);
    indicesOut.copy_(indices);
}
ATEN_ENTRY(aclnnCummin, REAL | BOOL, (In, self), (Dim, dim), (Out, valuesOut, like(self)), (Out, indicesOut, shaped_like(self))) {
    const auto [values, indices] = at::cummin(self, dim);
    valuesOut.copy_(values);
    indicesOut.copy_(indices);
}
