// Matrix products and solvers. The engine computes float32 as float32, whatever less cubeMathType permits; half types are summed in
// float32.
#include <ATen/ATen.h>

#include <array>

#include "engine/aten/adapter.h"
#include "engine/aten/results.h"

using namespace torch_aclnn::host::aten;

namespace torch_aclnn::host::aten::kind {
using QrMode = Between<int64_t, 0, 2>;
}

#define PRODUCT(entry_point, dtypes, function)                                                          \
    ATEN_ENTRY(entry_point, dtypes, (In, self), (In, mat2), (Out, out), (CubeMathType, cubeMathType)) { \
        write(out, function(wide(self), wide(mat2)));                                                   \
    }

PRODUCT(aclnnMm, FLOATING, at::mm)
PRODUCT(aclnnMatmul, FLOATING, at::matmul)
PRODUCT(aclnnBatchMatMul, FLOATING, at::bmm)
PRODUCT(aclnnMv, FLOATING, at::mv)

ATEN_ENTRY(aclnnDot, NUMBERS, (In, self), (In, tensor), (Out, out)) {
    write(out, at::dot(wide(self), wide(tensor)));
}

ATEN_ENTRY(aclnnAddmm, FLOATING, (In, self), (In, mat1), (In, mat2), (Scalar, beta), (Scalar, alpha), (Out, out),
           (CubeMathType, cubeMathType)) {
    write(out, at::addmm(wide(self), wide(mat1), wide(mat2), beta, alpha));
}
ATEN_ENTRY(aclnnInplaceAddmm, FLOATING, (Out, selfRef), (In, mat1), (In, mat2), (Scalar, beta), (Scalar, alpha),
           (CubeMathType, cubeMathType)) {
    write(selfRef, at::addmm(wide(selfRef), wide(mat1), wide(mat2), beta, alpha));
}
ATEN_ENTRY(aclnnBaddbmm, FLOATING, (In, self), (In, batch1), (In, batch2), (Scalar, beta), (Scalar, alpha), (Out, out),
           (CubeMathType, cubeMathType)) {
    write(out, at::baddbmm(wide(self), wide(batch1), wide(batch2), beta, alpha));
}
ATEN_ENTRY(aclnnAddbmm, FLOATING, (In, self), (In, batch1), (In, batch2), (Scalar, beta), (Scalar, alpha), (Out, out),
           (CubeMathType, cubeMathType)) {
    write(out, at::addbmm(wide(self), wide(batch1), wide(batch2), beta, alpha));
}
// The two factors come in the other order here.
ATEN_ENTRY(aclnnAddmv, ANY, (In, self), (In, mat), (In, vec), (Scalar, alpha), (Scalar, beta), (Out, out), (CubeMathType, cubeMathType)) {
    write(out, at::addmv(wide(self), wide(mat), wide(vec), beta, alpha));
}
ATEN_ENTRY(aclnnAddr, NUMBERS, (In, self), (In, vec1), (In, vec2), (Scalar, beta), (Scalar, alpha), (Out, out)) {
    write(out, at::addr(wide(self), wide(vec1), wide(vec2), beta, alpha));
}
ATEN_ENTRY(aclnnInplaceAddr, NUMBERS, (Out, selfRef), (In, vec1), (In, vec2), (Scalar, beta), (Scalar, alpha)) {
    write(selfRef, at::addr(wide(selfRef), wide(vec1), wide(vec2), beta, alpha));
}

ATEN_ENTRY(aclnnInverse, ANY, (In, self), (Out, out)) {
    write(out, at::inverse(wide(self)));
}
ATEN_ENTRY(aclnnTriangularSolve, FLOAT | DOUBLE | COMPLEX, (In, self), (In, A), (Bool, upper), (Bool, transpose), (Bool, unitriangular),
           (Out, xOut), (Out, mOut)) {
    const auto [solution, coefficients] = at::triangular_solve(wide(self), wide(A), upper, transpose, unitriangular);
    write(xOut, solution);
    write(mOut, coefficients);
}
ATEN_ENTRY(aclnnLinalgCross, REAL | COMPLEX, (In, self), (In, other), (Dim, dim), (Out, out)) {
    write(out, at::linalg_cross(self, other, dim));
}

// mode: 0 reduced, 1 complete, 2 R alone.
ATEN_ENTRY(aclnnLinalgQr, ANY, (In, self), (QrMode, mode), (Out, Q), (Out, R)) {
    constexpr std::array names{"reduced", "complete", "r"};
    const auto [q, r] = at::linalg_qr(wide(self), names[mode]);
    write(Q, q);
    write(R, r);
}
// Its last output is V, not its transpose.
ATEN_ENTRY(aclnnSvd, FLOAT, (In, input), (Bool, fullMatrices), (Bool, computeUV), (Out, sigma), (Out, u), (Out, v)) {
    const auto [left, values, right] = at::_linalg_svd(wide(input), fullMatrices, computeUV);
    write(sigma, values);
    if (!computeUV) return;
    write(u, left);
    write(v, right.mT());
}

// The distances between the rows of one matrix.
ATEN_ENTRY(aclnnPdist, ANY, (In, self), (Float, p), (Out, out)) {
    write(out, at::_pdist_forward(wide(self).contiguous(), p));
}
