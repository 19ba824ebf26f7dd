// Matrix products, and systems of equations. Half types are summed in float32.
#include "engine/aten/by_name/call.h"

static at::Tensor factor(const Call& call, size_t i, const char* is_transposed) {
    const at::Tensor x = call.computing(i);
    if (x.dim() < 2) refuse("input " + std::to_string(i), "a matrix", shape_text(x.sizes()));
    return call.attribute<bool>(is_transposed, false) ? x.transpose(-1, -2) : x;
}

// A third input is added.
static void multiply(Call& call, const char* first_transposed, const char* second_transposed) {
    const at::Tensor product = at::matmul(factor(call, 0, first_transposed), factor(call, 1, second_transposed));
    const std::optional<at::Tensor> bias = call.optional_computing(2);
    call.write(0, bias ? product + *bias : product);
}

RUN_OPERATOR(MatMul, multiply(call, "transpose_x1", "transpose_x2"))
RUN_OPERATOR(MatMulV2, multiply(call, "transpose_x1", "transpose_x2"))
RUN_OPERATOR(BatchMatMul, multiply(call, "adj_x1", "adj_x2"))

OPERATOR(MatrixTriangularSolve) {
    const at::Tensor a = call.attribute<bool>("adjoint", false) ? call.computing(0).mH() : call.computing(0);
    const bool upper = call.attribute<bool>("lower", true) == call.attribute<bool>("adjoint", false);
    call.write(0, at::linalg_solve_triangular(a, call.computing(1), upper));
}
