// Matrix products and solvers. Half types are summed in float32.
#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <limits>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/indices.h"
#include "engine/aten/adapter/product_precision.h"
#include "engine/aten/adapter/results.h"
#include "engine/aten/composite/products.h"
#include "engine/aten/composite/quantised.h"

#define ATEN_FAMILY "linear algebra"
using namespace torch_aclnn::host::aten;

namespace torch_aclnn::host::aten::kind {
using QrMode = Between<int64_t, 0, 2>;
}  // namespace torch_aclnn::host::aten::kind

namespace {

using torch_aclnn::host::refuse;

void require_rank(const NamedShape& tensor, size_t rank) {
    if (tensor.sizes.size() != rank)
        refuse(tensor.name, c10::str(rank, rank == 1 ? " dimension" : " dimensions"), shape_text(tensor.sizes));
}
void require_matrices(const NamedShape& tensor) {
    if (tensor.sizes.size() < 2) refuse(tensor.name, "at least 2 dimensions", shape_text(tensor.sizes));
}
// The dimensions before those of the matrix.
NamedShape batch_of(NamedShape tensor) {
    tensor.sizes = tensor.sizes.slice(0, tensor.sizes.size() - std::min<size_t>(tensor.sizes.size(), 2));
    return tensor;
}

// The product of vectors, matrices or batches of matrices, which broadcast.
Expected multiplied(const NamedShape& left, const NamedShape& right) {
    for (const NamedShape& factor : {left, right})
        if (factor.sizes.empty()) refuse(factor.name, "at least 1 dimension", shape_text(factor.sizes));
    const size_t left_rank = left.sizes.size(), right_rank = right.sizes.size();
    if (left.sizes.back() != right.sizes[right_rank == 1 ? 0 : right_rank - 2])
        refuse(right.name, c10::str("a factor with the K of ", left.name, ", ", left.sizes), shape_text(right.sizes));
    Expected expected = broadcast({batch_of(left), batch_of(right)});
    if (left_rank > 1) expected.sizes.push_back(left.sizes[left_rank - 2]);
    if (right_rank > 1) expected.sizes.push_back(right.sizes.back());
    return expected;
}
Expected multiplied(const NamedShape& left, size_t left_rank, const NamedShape& right, size_t right_rank) {
    require_rank(left, left_rank);
    require_rank(right, right_rank);
    return multiplied(left, right);
}
// Without broadcasting.
Expected multiplied_in_batches(const NamedShape& left, const NamedShape& right) {
    const Expected expected = multiplied(left, 3, right, 3);
    if (left.sizes[0] != right.sizes[0])
        refuse(right.name, c10::str("the batch of ", left.name, ", ", left.sizes), shape_text(right.sizes));
    return expected;
}
at::Tensor turned(const char* name, const at::Tensor& matrix, int64_t turns) {
    require_rank({name, matrix}, 2);
    return turns == 0 ? matrix : matrix.t();
}
Expected multiplied_turned(const at::Tensor& A, int64_t turns_A, const at::Tensor& B, int64_t turns_B) {
    const at::Tensor left = turned("A", A, turns_A), right = turned("B", B, turns_B);
    return multiplied({"A", left}, 2, {"B", right}, 2);
}

}  // namespace

namespace torch_aclnn::host::aten {

// Three dimensions in another order.
static at::Tensor permuted(const char* name, const at::Tensor& tensor, const char* order_name, at::IntArrayRef order) {
    if (tensor.dim() != 3) refuse(name, "3 dimensions", shape_text(tensor.sizes()));
    constexpr std::array<int64_t, 3> kDims{0, 1, 2};
    if (!std::is_permutation(order.begin(), order.end(), kDims.begin())) refuse(order_name, "0, 1 and 2 in any order", c10::str(order));
    return tensor.permute(order);
}
// Batches of products, of which the rows come first. Another factor than 1 makes as many batches of the columns of all.
Expected multiplied_permuted(const at::Tensor& x1, at::IntArrayRef order1, const at::Tensor& x2, at::IntArrayRef order2,
                             at::IntArrayRef order, int64_t factor) {
    const at::Tensor left = permuted("x1", x1, "permX1", order1), right = permuted("x2", x2, "permX2", order2);
    const Expected product = multiplied_in_batches({"x1", left}, {"x2", right});
    if (order != at::IntArrayRef{1, 0, 2}) refuse("permY", "1, 0 and 2", c10::str(order));
    const int64_t batches = product.sizes[0], rows = product.sizes[1], columns = product.sizes[2];
    if (batches % factor != 0) refuse("batchSplitFactor", c10::str("a divisor of the ", batches, " batches"), c10::str(factor));
    return factor == 1 ? shape({rows, batches, columns}) : shape({factor, rows, batches / factor * columns});
}
at::Tensor permuted_product(const at::Tensor& left, const at::Tensor& right, int64_t factor) {
    const at::Tensor batches = at::bmm(left, right).transpose(0, 1);
    return factor == 1 ? batches : batches.unflatten(1, {factor, -1}).flatten(2).transpose(0, 1);
}

}  // namespace torch_aclnn::host::aten

namespace {

Expected outer(const NamedShape& left, const NamedShape& right) {
    require_rank(left, 1);
    require_rank(right, 1);
    return shape({left.sizes[0], right.sizes[0]});
}
// A product, to which self is added by broadcasting.
Expected added(NamedShape self, const Expected& product) {
    NamedShape whole = self;
    whole.sizes = product.sizes;
    if (broadcast({whole, self}).sizes != product.sizes)
        refuse(self.name, "a tensor that broadcasts to the product's " + shape_text(product.sizes), shape_text(self.sizes));
    return product;
}

Expected inverted(const at::Tensor& self) {
    require_matrices({"self", self});
    if (self.size(-1) != self.size(-2)) refuse("self", "square matrices", shape_text(self.sizes()));
    return like(self);
}
// Matrices of so many rows and columns, in batches like those.
Expected matrices(at::IntArrayRef batch, int64_t rows, int64_t columns) {
    Expected expected(batch);
    expected.sizes.append({rows, columns});
    return expected;
}
// The solution or the coefficients, with as many columns as self or A.
Expected solved(const at::Tensor& self, const at::Tensor& A, const at::Tensor& columns) {
    require_matrices({"self", self});
    require_matrices({"A", A});
    const int64_t rows = self.size(-2);
    if (A.size(-1) != rows || A.size(-2) != rows) refuse("A", c10::str("matrices of ", rows, " by ", rows), shape_text(A.sizes()));
    return matrices(broadcast({batch_of({"self", self}), batch_of({"A", A})}).sizes, rows, columns.size(-1));
}

void require_three(const NamedShape& tensor, int64_t dim, int64_t rank) {
    require_rank(tensor, rank);
    if (rank == 0 || tensor.sizes[from_front(dim, rank)] != 3)
        refuse("dim", "a dimension of 3 elements", c10::str(dim, " of ", shape_text(tensor.sizes)));
}
Expected crossed(const at::Tensor& self, const at::Tensor& other, int64_t dim) {
    for (const NamedShape& factor : {NamedShape("self", self), NamedShape("other", other)}) require_three(factor, dim, self.dim());
    return broadcast({{"self", self}, {"other", other}});
}

// Factors of the matrices of a tensor, which have so many rows and columns.
struct Decomposed {
    Decomposed(const char* name, const at::Tensor& tensor) {
        require_matrices({name, tensor});
        batch = tensor.sizes().slice(0, tensor.dim() - 2);
        rows = tensor.size(-2);
        columns = tensor.size(-1);
        smaller = std::min(rows, columns);
    }

    at::IntArrayRef batch;
    int64_t rows = 0, columns = 0, smaller = 0;
};
Expected orthogonal(const at::Tensor& self, int64_t mode) {
    const Decomposed of("self", self);
    return mode == 2 ? shape({0}) : matrices(of.batch, of.rows, mode == 1 ? of.rows : of.smaller);
}
Expected triangular(const at::Tensor& self, int64_t mode) {
    const Decomposed of("self", self);
    return matrices(of.batch, mode == 1 ? of.rows : of.smaller, of.columns);
}
Expected singular_values(const at::Tensor& input) {
    const Decomposed of("input", input);
    Expected expected(of.batch, input.scalar_type());
    expected.sizes.push_back(of.smaller);
    return expected;
}
// The vectors on the side with so many rows.
Expected singular_vectors(const at::Tensor& input, int64_t dim, bool full) {
    const Decomposed of("input", input);
    return matrices(of.batch, input.size(dim), full ? input.size(dim) : of.smaller);
}

int64_t pairs(const at::Tensor& self) {
    require_rank({"self", self}, 2);
    const int64_t rows = self.size(0);
    int64_t ordered = 0;
    if (__builtin_mul_overflow(rows, std::max<int64_t>(rows - 1, 0), &ordered))
        refuse("self", "rows whose pairs can be counted", shape_text(self.sizes()));
    return ordered / 2;
}

// The two equations that the documents list.
constexpr std::string_view kOuter = "a,b->ab", kContraction = "abcd,abced->abce";
std::string_view read_equation(const char* name, const char* text) {
    return read_choice(name, text, {kOuter, kContraction});
}
Expected contracted(at::TensorList tensors, std::string_view equation) {
    if (tensors.size() != 2) refuse("tensors", "2 tensors", std::to_string(tensors.size()));
    const NamedShape first("tensors", tensors[0]), second("tensors", tensors[1]);
    const bool is_outer = equation == kOuter;
    require_rank(first, is_outer ? 1 : 4);
    require_rank(second, is_outer ? 1 : 5);
    Expected expected = is_outer ? outer(first, second) : without_dim(second.sizes, 4);
    if (!is_outer && at::IntArrayRef(without_dim(second.sizes, 3).sizes) != first.sizes)
        refuse("tensors", "the dimensions abcd and abced", shape_text(second.sizes));
    expected.type = tensors[0].scalar_type();
    return expected;
}

// Whether ATen can compute a product right into the caller's memory: it has the type of all operands, and none of them lies there.
bool holds_product(const at::Tensor& out, at::TensorList operands, const at::Tensor& left, const at::Tensor& right) {
    const auto is_apart = [&](const at::Tensor& operand) {
        return operand.scalar_type() == out.scalar_type() && operand.const_data_ptr() != out.const_data_ptr();
    };
    return left.dim() == 2 && right.dim() == 2 && out.sizes() == at::IntArrayRef{left.size(0), right.size(1)} && out.is_contiguous() &&
           std::all_of(operands.begin(), operands.end(), is_apart);
}

template <class Function>
void write_product(at::Tensor out, const at::Tensor& self, const at::Tensor& mat2, int8_t cube_math_type, const Function& function) {
    const auto [left, right] = factors(self, mat2, cube_math_type);
    if (holds_product(out, {left, right}, left, right))
        at::mm_out(out, left, right);
    else
        write(out, function(left, right));
}
void write_addmm(at::Tensor out, const at::Tensor& self, const at::Tensor& mat1, const at::Tensor& mat2, const at::Scalar& beta,
                 const at::Scalar& alpha, int8_t cube_math_type) {
    auto [left, right] = factors(mat1, mat2, cube_math_type);
    if (self.scalar_type() != left.scalar_type()) left = upcast(left), right = upcast(right);
    const at::Tensor added = self.scalar_type() == left.scalar_type() ? self : upcast(self);
    if (holds_product(out, {added, left, right}, left, right))
        at::addmm_out(out, added, left, right, beta, alpha);
    else
        write(out, at::addmm(added, left, right, beta, alpha));
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
using Equation = Kind<const char*, std::string_view, std::string_view, read_equation>;
}  // namespace torch_aclnn::host::aten::kind

#define PRODUCT(entry_point, dtypes, function, ...)                                                                                 \
    ATEN_CHECKED_ENTRY(entry_point, dtypes, require_kept_type(self, cubeMathType), (In, self), (In, mat2), (Out, out, __VA_ARGS__), \
                       (CubeMathType, cubeMathType)) {                                                                              \
        write_product(out, self, mat2, cubeMathType, [](const auto&... factors) { return function(factors...); });                  \
    }

PRODUCT(aclnnMm, FLOATING, at::mm, multiplied({"self", self}, 2, {"mat2", mat2}, 2))
PRODUCT(aclnnMatmul, FLOATING, at::matmul, multiplied({"self", self}, {"mat2", mat2}))
PRODUCT(aclnnMv, FLOAT | FLOAT16, at::mv, multiplied({"self", self}, 2, {"mat2", mat2}, 1))
// matmul, because bmm does not broadcast.
PRODUCT(aclnnBatchMatMul, FLOATING, at::matmul, multiplied({"self", self}, 3, {"mat2", mat2}, 3))

ATEN_ENTRY(aclnnGer, NUMBERS.without(BF16), (In, self), (In, vec2), (Out, out, outer({"self", self}, {"vec2", vec2}))) {
    write(out, at::outer(self, vec2));
}
ATEN_ENTRY(aclnnDot, FLOATING | INT8 | INT32 | UINT8, (In, self, shape({self.numel()})), (In, tensor, shaped_like(self)),
           (Out, out, elements(1))) {
    write(out, at::dot(upcast(self), upcast(tensor)));
}

ATEN_ENTRY(aclnnEinsum, FLOAT | FLOAT16 | INT16 | INT32 | INT64 | UINT16 | UINT32 | UINT64, (Tensors, tensors), (Equation, equation),
           (Out, output, contracted(tensors, equation))) {
    const auto numbers = [](const at::Tensor& tensor) { return tensor.is_floating_point() ? upcast(tensor) : tensor.to(at::kLong); };
    const at::Tensor first = numbers(tensors[0]), second = numbers(tensors[1]);
    write(output, equation == kOuter ? at::outer(first, second) : at::matmul(second, first.unsqueeze(-1)));
}

ATEN_CHECKED_ENTRY(aclnnAddmm, FLOATING, require_kept_type(mat1, cubeMathType), (In, self), (In, mat1), (In, mat2), (Scalar, beta),
                   (Scalar, alpha), (Out, out, added({"self", self}, multiplied({"mat1", mat1}, 2, {"mat2", mat2}, 2))),
                   (CubeMathType, cubeMathType)) {
    write_addmm(out, self, mat1, mat2, beta, alpha, cubeMathType);
}
ATEN_CHECKED_ENTRY(aclnnInplaceAddmm, FLOATING, require_kept_type(mat1, cubeMathType),
                   (InOut, selfRef, multiplied({"mat1", mat1}, 2, {"mat2", mat2}, 2)), (In, mat1), (In, mat2), (Scalar, beta),
                   (Scalar, alpha), (CubeMathType, cubeMathType)) {
    write_addmm(selfRef, selfRef, mat1, mat2, beta, alpha, cubeMathType);
}
ATEN_CHECKED_ENTRY(aclnnBaddbmm, FLOATING, require_kept_type(batch1, cubeMathType), (In, self), (In, batch1), (In, batch2), (Scalar, beta),
                   (Scalar, alpha), (Out, out, added({"self", self}, multiplied_in_batches({"batch1", batch1}, {"batch2", batch2}))),
                   (CubeMathType, cubeMathType)) {
    write(out, at::baddbmm(upcast(self), operand(batch1, cubeMathType), operand(batch2, cubeMathType), beta, alpha));
}
ATEN_CHECKED_ENTRY(aclnnInplaceBaddbmm, FLOATING, require_kept_type(batch1, cubeMathType),
                   (InOut, selfRef, multiplied_in_batches({"batch1", batch1}, {"batch2", batch2})), (In, batch1), (In, batch2),
                   (Scalar, beta), (Scalar, alpha), (CubeMathType, cubeMathType)) {
    write(selfRef, at::baddbmm(upcast(selfRef), operand(batch1, cubeMathType), operand(batch2, cubeMathType), beta, alpha));
}
ATEN_CHECKED_ENTRY(aclnnAddbmm, FLOATING, require_kept_type(batch1, cubeMathType), (In, self), (In, batch1), (In, batch2), (Scalar, beta),
                   (Scalar, alpha),
                   (Out, out, added({"self", self}, without_dim(multiplied_in_batches({"batch1", batch1}, {"batch2", batch2}).sizes, 0))),
                   (CubeMathType, cubeMathType)) {
    write(out, at::addbmm(upcast(self), operand(batch1, cubeMathType), operand(batch2, cubeMathType), beta, alpha));
}
ATEN_CHECKED_ENTRY(aclnnInplaceAddbmm, FLOATING, require_kept_type(batch1, cubeMathType),
                   (InOut, selfRef, without_dim(multiplied_in_batches({"batch1", batch1}, {"batch2", batch2}).sizes, 0)), (In, batch1),
                   (In, batch2), (Scalar, beta), (Scalar, alpha), (CubeMathType, cubeMathType)) {
    write(selfRef, at::addbmm(upcast(selfRef), operand(batch1, cubeMathType), operand(batch2, cubeMathType), beta, alpha));
}
ATEN_CHECKED_ENTRY(aclnnGemm, FLOATING, require_kept_type(A, cubeMathType), (In, A), (In, B), (In, C), (Float, alpha), (Float, beta),
                   (Int, transA), (Int, transB), (Out, out, added({"C", C}, multiplied_turned(A, transA, B, transB))),
                   (CubeMathType, cubeMathType)) {
    write_addmm(out, C, turned("A", A, transA), turned("B", B, transB), beta, alpha, cubeMathType);
}
#define PERMUTED_PRODUCT(entry_point, Weight, x2_sizes, x2_values)                                                                   \
    ATEN_CHECKED_ENTRY(entry_point, FLOATING, (require_not_given("bias", bias), require_not_given("scale", scale)), (In, x1),        \
                       (Weight, x2), (OptIn, bias), (OptIn, scale), (Exactly<3>, permX1), (Exactly<3>, permX2), (Exactly<3>, permY), \
                       (CubeMathType, cubeMathType), (SplitFactor, batchSplitFactor),                                                \
                       (Out, out, multiplied_permuted(x1, permX1, x2_sizes, permX2, permY, batchSplitFactor))) {                     \
        const at::Tensor left = operand(x1.permute(permX1), cubeMathType), right = operand(x2_values.permute(permX2), cubeMathType); \
        write(out, permuted_product(left, right, batchSplitFactor));                                                                 \
    }
PERMUTED_PRODUCT(aclnnTransposeBatchMatMul, In, x2, x2)
PERMUTED_PRODUCT(aclnnTransposeBatchMatMulWeightNz, InBlocks, x2.placeholder(), x2.values())
PERMUTED_PRODUCT(aclnnTransposeBatchMatMulWeightNZ, InBlocks, x2.placeholder(), x2.values())
// The two factors come in the other order here.
ATEN_CHECKED_ENTRY(aclnnAddmv, FLOAT | FLOAT16 | DOUBLE | INTEGRAL | BOOL, require_kept_type(mat, cubeMathType), (In, self), (In, mat),
                   (In, vec), (Scalar, alpha), (Scalar, beta),
                   (Out, out, added({"self", self}, multiplied({"mat", mat}, 2, {"vec", vec}, 1))), (CubeMathType, cubeMathType)) {
    write(out, at::addmv(upcast(self), operand(mat, cubeMathType), operand(vec, cubeMathType), beta, alpha));
}
ATEN_ENTRY(aclnnAddr, REAL | BOOL, (In, self), (In, vec1), (In, vec2), (Scalar, beta), (Scalar, alpha),
           (Out, out, added({"self", self}, outer({"vec1", vec1}, {"vec2", vec2})))) {
    write(out, at::addr(upcast(self), upcast(vec1), upcast(vec2), beta, alpha));
}
ATEN_ENTRY(aclnnInplaceAddr, REAL | BOOL, (InOut, selfRef, outer({"vec1", vec1}, {"vec2", vec2})), (In, vec1), (In, vec2), (Scalar, beta),
           (Scalar, alpha)) {
    write(selfRef, at::addr(upcast(selfRef), upcast(vec1), upcast(vec2), beta, alpha));
}

ATEN_ENTRY(aclnnInverse, WIDE, (In, self), (Out, out, inverted(self))) {
    write(out, at::inverse(upcast(self)));
}
ATEN_ENTRY(aclnnTriangularSolve, FLOAT | DOUBLE | COMPLEX, (In, self), (In, A), (Bool, upper), (Bool, transpose), (Bool, unitriangular),
           (Out, xOut, solved(self, A, self)), (Out, mOut, solved(self, A, A))) {
    const auto [solution, coefficients] = at::triangular_solve(upcast(self), upcast(A), upper, transpose, unitriangular);
    write(xOut, solution);
    write(mOut, coefficients);
}
ATEN_ENTRY(aclnnLinalgCross, REAL | COMPLEX, (In, self), (In, other), (Dim, dim), (Out, out, crossed(self, other, dim))) {
    write(out, at::linalg_cross(self, other, dim));
}

// mode: 0 reduced, 1 complete, 2 R alone.
static void decompose(const at::Tensor& self, std::string_view mode, at::Tensor& Q, at::Tensor& R) {
    const auto [q, r] = at::linalg_qr(upcast(self), mode);
    write(Q, q);
    write(R, r);
}
ATEN_ENTRY(aclnnLinalgQr, WIDE, (In, self), (QrMode, mode), (Out, Q, orthogonal(self, mode)), (Out, R, triangular(self, mode))) {
    constexpr std::array names{"reduced", "complete", "r"};
    decompose(self, names[mode], Q, R);
}
ATEN_ENTRY(aclnnQr, FLOAT | FLOAT16 | DOUBLE | COMPLEX, (In, self), (Bool, some), (Out, Q, orthogonal(self, some ? 0 : 1)),
           (Out, R, triangular(self, some ? 0 : 1))) {
    decompose(self, some ? "reduced" : "complete", Q, R);
}
// Its last output is V, not its transpose.
ATEN_ENTRY(aclnnSvd, FLOAT, (In, input), (Bool, fullMatrices), (Bool, computeUV), (Out, sigma, singular_values(input)),
           (Out, u, if_wanted(computeUV, singular_vectors(input, -2, fullMatrices))),
           (Out, v, if_wanted(computeUV, singular_vectors(input, -1, fullMatrices)))) {
    require_finite("input", input);
    const auto [left, values, right] = at::_linalg_svd(upcast(input), fullMatrices, computeUV);
    write(sigma, values);
    if (!computeUV) return;
    write(u, left);
    write(v, right.mT());
}

// The distances between the rows of one matrix.
ATEN_ENTRY(aclnnPdist, FLOAT | FLOAT16, (In, self), (NotNegativeFloat, p), (Out, out, shape({pairs(self)}))) {
    write(out, at::_pdist_forward(upcast(self).contiguous(), p));
}
ATEN_ENTRY(aclnnPdistForward, FLOAT | FLOAT16, (In, self), (NotNegativeScalar, pScalar), (Out, out, shape({pairs(self)}))) {
    write(out, at::_pdist_forward(upcast(self).contiguous(), pScalar.toDouble()));
}
