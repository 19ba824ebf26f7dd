// Matrix products and solvers. The engine computes float32 as float32, whatever less cubeMathType permits; half types are summed in
// float32.
#include <ATen/ATen.h>

#include "host/aten/adapter.h"
#include "host/aten/results.h"

using namespace torch_aclnn::host::aten;

#define PRODUCT(entry_point, function)                                                  \
    ATEN_ENTRY(entry_point, (In, self), (In, mat2), (Out, out), (Int8, cubeMathType)) { \
        write(out, function(wide(self), wide(mat2)));                                   \
    }

PRODUCT(aclnnMm, at::mm)
PRODUCT(aclnnMatmul, at::matmul)
PRODUCT(aclnnBatchMatMul, at::bmm)
PRODUCT(aclnnMv, at::mv)

ATEN_ENTRY(aclnnDot, (In, self), (In, tensor), (Out, out)) {
    write(out, at::dot(wide(self), wide(tensor)));
}

ATEN_ENTRY(aclnnAddmm, (In, self), (In, mat1), (In, mat2), (Scalar, beta), (Scalar, alpha), (Out, out), (Int8, cubeMathType)) {
    write(out, at::addmm(wide(self), wide(mat1), wide(mat2), beta, alpha));
}
ATEN_ENTRY(aclnnInplaceAddmm, (Out, selfRef), (In, mat1), (In, mat2), (Scalar, beta), (Scalar, alpha), (Int8, cubeMathType)) {
    write(selfRef, at::addmm(wide(selfRef), wide(mat1), wide(mat2), beta, alpha));
}
ATEN_ENTRY(aclnnBaddbmm, (In, self), (In, batch1), (In, batch2), (Scalar, beta), (Scalar, alpha), (Out, out), (Int8, cubeMathType)) {
    write(out, at::baddbmm(wide(self), wide(batch1), wide(batch2), beta, alpha));
}
ATEN_ENTRY(aclnnAddbmm, (In, self), (In, batch1), (In, batch2), (Scalar, beta), (Scalar, alpha), (Out, out), (Int8, cubeMathType)) {
    write(out, at::addbmm(wide(self), wide(batch1), wide(batch2), beta, alpha));
}
// The two factors come in the other order here.
ATEN_ENTRY(aclnnAddmv, (In, self), (In, mat), (In, vec), (Scalar, alpha), (Scalar, beta), (Out, out), (Int8, cubeMathType)) {
    write(out, at::addmv(wide(self), wide(mat), wide(vec), beta, alpha));
}
ATEN_ENTRY(aclnnAddr, (In, self), (In, vec1), (In, vec2), (Scalar, beta), (Scalar, alpha), (Out, out)) {
    write(out, at::addr(wide(self), wide(vec1), wide(vec2), beta, alpha));
}
ATEN_ENTRY(aclnnInplaceAddr, (Out, selfRef), (In, vec1), (In, vec2), (Scalar, beta), (Scalar, alpha)) {
    write(selfRef, at::addr(wide(selfRef), wide(vec1), wide(vec2), beta, alpha));
}

ATEN_ENTRY(aclnnInverse, (In, self), (Out, out)) {
    write(out, at::inverse(wide(self)));
}
ATEN_ENTRY(aclnnTriangularSolve, (In, self), (In, A), (Bool, upper), (Bool, transpose), (Bool, unitriangular), (Out, xOut), (Out, mOut)) {
    const auto [solution, coefficients] = at::triangular_solve(wide(self), wide(A), upper, transpose, unitriangular);
    write(xOut, solution);
    write(mOut, coefficients);
}
ATEN_ENTRY(aclnnLinalgCross, (In, self), (In, other), (Int, dim), (Out, out)) {
    write(out, at::linalg_cross(self, other, dim));
}
