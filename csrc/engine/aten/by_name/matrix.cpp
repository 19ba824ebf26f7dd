// Matrix products and decompositions. Half types are summed in float32.
#include "engine/aten/by_name/call.h"

using namespace torch_aclnn::host;
using namespace torch_aclnn::host::aten;

namespace {

at::Tensor factor(const Call& call, size_t i, const char* is_transposed) {
    const at::Tensor x = call.computing(i);
    if (x.dim() < 2) refuse("input " + std::to_string(i), "a matrix", shape_text(x.sizes()));
    return call.attribute<bool>(is_transposed, false) ? x.transpose(-1, -2) : x;
}

// A third input is added.
void multiply(Call& call, const char* first_transposed, const char* second_transposed) {
    const at::Tensor product = at::matmul(factor(call, 0, first_transposed), factor(call, 1, second_transposed));
    const std::optional<at::Tensor> bias = call.optional_computing(2);
    call.write(0, bias ? product + *bias : product);
}

}  // namespace

OPERATOR(MatMul) {
    multiply(call, "transpose_x1", "transpose_x2");
}
OPERATOR(MatMulV2) {
    multiply(call, "transpose_x1", "transpose_x2");
}
OPERATOR(BatchMatMul) {
    multiply(call, "adj_x1", "adj_x2");
}
OPERATOR(BatchMatMulV2) {
    multiply(call, "adj_x1", "adj_x2");
}
OPERATOR(Dot) {
    call.write(0, at::dot(call.computing(0).reshape({-1}), call.computing(1).reshape({-1})));
}

OPERATOR(MatrixInverse) {
    if (call.attribute<bool>("adjoint", false)) refuse("attribute adjoint", "false", "true");
    call.write(0, at::linalg_inv(call.computing(0)));
}
OPERATOR(LogMatrixDeterminant) {
    const auto [sign, logarithm] = at::linalg_slogdet(call.computing(0));
    call.write(0, sign);
    call.write(1, logarithm);
}
OPERATOR(Qr) {
    const auto [q, r] = at::linalg_qr(call.computing(0), call.attribute<bool>("full_matrices", false) ? "complete" : "reduced");
    call.write(0, q);
    call.write(1, r);
}
OPERATOR(MatrixTriangularSolve) {
    const at::Tensor a = call.attribute<bool>("adjoint", false) ? call.computing(0).mH() : call.computing(0);
    const bool upper = call.attribute<bool>("lower", true) == call.attribute<bool>("adjoint", false);
    call.write(0, at::linalg_solve_triangular(a, call.computing(1), upper));
}
OPERATOR(Trace) {
    call.write(0, at::trace(call.computing(0)));
}
