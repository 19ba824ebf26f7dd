// Matrix products and solvers. The engine computes float32 as float32, whatever less cubeMathType permits; half types are summed in
// float32.
#include <ATen/ATen.h>

#include <array>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"

#define ATEN_FAMILY "linear algebra"
using namespace torch_aclnn::host::aten;

namespace torch_aclnn::host::aten::kind {
using QrMode = Between<int64_t, 0, 2>;
}

namespace {

void require_three(const at::Tensor& self, int64_t dim) {
    if (self.dim() == 0 || self.size(dim) != 3)
        torch_aclnn::host::refuse("dim", "a dimension of 3 elements", c10::str(dim, " of shape ", self.sizes()));
}

// Matrices of one batch each, or of one batch and a single matrix for all of it.
void require_batches(const NamedShape& self, const NamedShape& mat2, const NamedShape& out) {
    for (const NamedShape& tensor : {self, mat2, out})
        if (tensor.sizes.size() != 3) torch_aclnn::host::refuse(tensor.name, "3 dimensions", c10::str("shape ", tensor.sizes));
    const int64_t batch = self.sizes[0] == 1 ? mat2.sizes[0] : self.sizes[0];
    if ((mat2.sizes[0] != 1 && mat2.sizes[0] != batch) || mat2.sizes[1] != self.sizes[2])
        torch_aclnn::host::refuse(mat2.name, c10::str("shape [B, K, N] with the K of self, ", self.sizes, ", and its B where neither is 1"),
                                  c10::str("shape ", mat2.sizes));
    const std::array expected{batch, self.sizes[1], mat2.sizes[2]};
    if (out.sizes != at::IntArrayRef(expected))
        torch_aclnn::host::refuse(out.name, c10::str("shape ", at::IntArrayRef(expected)), c10::str("shape ", out.sizes));
}

void require_outer(const at::Tensor& out, const at::Tensor& self, const at::Tensor& vec2) {
    const std::pair<const char*, const at::Tensor&> vectors[] = {{"self", self}, {"vec2", vec2}};
    for (const auto& [name, vector] : vectors)
        if (vector.dim() != 1) torch_aclnn::host::refuse(name, "1 dimension", c10::str("shape ", vector.sizes()));
    const std::array<int64_t, 2> sizes = {self.size(0), vec2.size(0)};
    if (out.sizes() != sizes) torch_aclnn::host::refuse("out", c10::str("shape ", at::IntArrayRef(sizes)), c10::str("shape ", out.sizes()));
}

}  // namespace

#define PRODUCT(entry_point, dtypes, function)                                                          \
    ATEN_ENTRY(entry_point, dtypes, (In, self), (In, mat2), (Out, out), (CubeMathType, cubeMathType)) { \
        write(out, function(upcast(self), upcast(mat2)));                                               \
    }

PRODUCT(aclnnMm, FLOATING, at::mm)
PRODUCT(aclnnMatmul, FLOATING, at::matmul)
PRODUCT(aclnnMv, FLOATING, at::mv)

// matmul, because bmm does not broadcast.
ATEN_CHECKED_ENTRY(aclnnBatchMatMul, FLOATING, require_batches({"self", self}, {"mat2", mat2}, {"out", out}), (In, self), (In, mat2),
                   (Out, out), (CubeMathType, cubeMathType)) {
    write(out, at::matmul(upcast(self), upcast(mat2)));
}

ATEN_CHECKED_ENTRY(aclnnGer, NUMBERS, require_outer(out, self, vec2), (In, self), (In, vec2), (Out, out)) {
    write(out, at::outer(self, vec2));
}
ATEN_ENTRY(aclnnDot, NUMBERS, (In, self), (In, tensor), (Out, out)) {
    write(out, at::dot(upcast(self), upcast(tensor)));
}

ATEN_ENTRY(aclnnAddmm, FLOATING, (In, self), (In, mat1), (In, mat2), (Scalar, beta), (Scalar, alpha), (Out, out),
           (CubeMathType, cubeMathType)) {
    write(out, at::addmm(upcast(self), upcast(mat1), upcast(mat2), beta, alpha));
}
ATEN_ENTRY(aclnnInplaceAddmm, FLOATING, (Out, selfRef), (In, mat1), (In, mat2), (Scalar, beta), (Scalar, alpha),
           (CubeMathType, cubeMathType)) {
    write(selfRef, at::addmm(upcast(selfRef), upcast(mat1), upcast(mat2), beta, alpha));
}
ATEN_ENTRY(aclnnBaddbmm, FLOATING, (In, self), (In, batch1), (In, batch2), (Scalar, beta), (Scalar, alpha), (Out, out),
           (CubeMathType, cubeMathType)) {
    write(out, at::baddbmm(upcast(self), upcast(batch1), upcast(batch2), beta, alpha));
}
ATEN_ENTRY(aclnnAddbmm, FLOATING, (In, self), (In, batch1), (In, batch2), (Scalar, beta), (Scalar, alpha), (Out, out),
           (CubeMathType, cubeMathType)) {
    write(out, at::addbmm(upcast(self), upcast(batch1), upcast(batch2), beta, alpha));
}
// The two factors come in the other order here.
ATEN_ENTRY(aclnnAddmv, ANY, (In, self), (In, mat), (In, vec), (Scalar, alpha), (Scalar, beta), (Out, out), (CubeMathType, cubeMathType)) {
    write(out, at::addmv(upcast(self), upcast(mat), upcast(vec), beta, alpha));
}
ATEN_ENTRY(aclnnAddr, NUMBERS, (In, self), (In, vec1), (In, vec2), (Scalar, beta), (Scalar, alpha), (Out, out)) {
    write(out, at::addr(upcast(self), upcast(vec1), upcast(vec2), beta, alpha));
}
ATEN_ENTRY(aclnnInplaceAddr, NUMBERS, (Out, selfRef), (In, vec1), (In, vec2), (Scalar, beta), (Scalar, alpha)) {
    write(selfRef, at::addr(upcast(selfRef), upcast(vec1), upcast(vec2), beta, alpha));
}

ATEN_ENTRY(aclnnInverse, ANY, (In, self), (Out, out)) {
    write(out, at::inverse(upcast(self)));
}
ATEN_ENTRY(aclnnTriangularSolve, FLOAT | DOUBLE | COMPLEX, (In, self), (In, A), (Bool, upper), (Bool, transpose), (Bool, unitriangular),
           (Out, xOut), (Out, mOut)) {
    const auto [solution, coefficients] = at::triangular_solve(upcast(self), upcast(A), upper, transpose, unitriangular);
    write(xOut, solution);
    write(mOut, coefficients);
}
ATEN_CHECKED_ENTRY(aclnnLinalgCross, REAL | COMPLEX, require_three(self, dim), (In, self), (In, other), (Dim, dim), (Out, out)) {
    write(out, at::linalg_cross(self, other, dim));
}

// mode: 0 reduced, 1 complete, 2 R alone.
ATEN_ENTRY(aclnnLinalgQr, ANY, (In, self), (QrMode, mode), (Out, Q), (Out, R)) {
    constexpr std::array names{"reduced", "complete", "r"};
    const auto [q, r] = at::linalg_qr(upcast(self), names[mode]);
    write(Q, q);
    write(R, r);
}
// Its last output is V, not its transpose.
ATEN_ENTRY(aclnnSvd, FLOAT, (In, input), (Bool, fullMatrices), (Bool, computeUV), (Out, sigma), (Out, u), (Out, v)) {
    const auto [left, values, right] = at::_linalg_svd(upcast(input), fullMatrices, computeUV);
    write(sigma, values);
    if (!computeUV) return;
    write(u, left);
    write(v, right.mT());
}

// The distances between the rows of one matrix.
ATEN_ENTRY(aclnnPdist, ANY, (In, self), (NotNegativeFloat, p), (Out, out)) {
    write(out, at::_pdist_forward(upcast(self).contiguous(), p));
}
