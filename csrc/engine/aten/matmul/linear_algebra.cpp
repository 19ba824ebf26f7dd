// Matrix products and solvers. Half types are summed in float32.

#include "engine/aten/matmul/matmul.h"
#include "engine/aten/numerics/matmul_precision.h"
#include "vocabulary/matmul/linear_algebra_calls.h"

// Returns the dimensions before those of the matrix.
static NamedShape batch_of(NamedShape tensor) {
    tensor.sizes = tensor.sizes.slice(0, tensor.sizes.size() - std::min<size_t>(tensor.sizes.size(), 2));
    return tensor;
}

// The product of vectors, matrices or batches of matrices, which broadcast.
static Expected multiplied(const NamedShape& left, const NamedShape& right) {
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
// The shape of a product of batches, which do not broadcast.
static Expected multiplied_in_batches(const NamedShape& left, const NamedShape& right) {
    const Expected expected = multiplied(left, right);
    if (left.sizes[0] != right.sizes[0])
        refuse(right.name, c10::str("the batch of ", left.name, ", ", left.sizes), shape_text(right.sizes));
    return expected;
}
static at::Tensor turned(const at::Tensor& matrix, int64_t turns) {
    return turns == 0 ? matrix : matrix.t();
}
static Expected multiplied_turned(const at::Tensor& A, int64_t turns_A, const at::Tensor& B, int64_t turns_B) {
    const at::Tensor left = turned(A, turns_A), right = turned(B, turns_B);
    return multiplied({"A", left}, {"B", right});
}

namespace torch_aclnn::host::aten {

static at::Tensor permuted(const at::Tensor& tensor, const char* order_name, at::IntArrayRef order) {
    constexpr std::array<int64_t, 3> kDims{0, 1, 2};
    if (!std::is_permutation(order.begin(), order.end(), kDims.begin())) refuse(order_name, "0, 1 and 2 in any order", c10::str(order));
    return tensor.permute(order);
}
Expected multiplied_permuted(const at::Tensor& x1, at::IntArrayRef order1, const at::Tensor& x2, at::IntArrayRef order2,
                             at::IntArrayRef order, int64_t factor) {
    const at::Tensor left = permuted(x1, "permX1", order1), right = permuted(x2, "permX2", order2);
    const Expected product = multiplied_in_batches({"x1", left}, {"x2", right});
    if (order != at::IntArrayRef{1, 0, 2}) refuse("permY", "1, 0 and 2", c10::str(order));
    const int64_t batches = product.sizes[0], rows = product.sizes[1], columns = product.sizes[2];
    require_divisor("batchSplitFactor", factor, batches);
    return factor == 1 ? shape({rows, batches, columns}) : shape({factor, rows, batches / factor * columns});
}
at::Tensor permuted_product(const at::Tensor& left, const at::Tensor& right, int64_t factor) {
    const at::Tensor batches = at::bmm(left, right).transpose(0, 1);
    return factor == 1 ? batches : batches.unflatten(1, {factor, -1}).flatten(2).transpose(0, 1);
}

}  // namespace torch_aclnn::host::aten

namespace {

Expected outer(const NamedShape& left, const NamedShape& right) {
    return shape({left.sizes[0], right.sizes[0]});
}
Expected added(NamedShape self, const Expected& product) {
    NamedShape whole = self;
    whole.sizes = product.sizes;
    if (broadcast({whole, self}).sizes != product.sizes)
        refuse(self.name, "a tensor that broadcasts to the product's " + shape_text(product.sizes), shape_text(self.sizes));
    return product;
}

Expected inverted(const at::Tensor& self) {
    if (self.size(-1) != self.size(-2)) refuse("self", "square matrices", shape_text(self.sizes()));
    return like(self);
}
Expected matrices(at::IntArrayRef batch, int64_t rows, int64_t columns) {
    Expected expected(batch);
    expected.sizes.append({rows, columns});
    return expected;
}
// The solution or the coefficients, with as many columns as self or A.
Expected solved(const at::Tensor& self, const at::Tensor& A, const at::Tensor& columns) {
    const int64_t rows = self.size(-2);
    if (A.size(-1) != rows || A.size(-2) != rows) refuse("A", c10::str("matrices of ", rows, " by ", rows), shape_text(A.sizes()));
    return matrices(broadcast({batch_of({"self", self}), batch_of({"A", A})}).sizes, rows, columns.size(-1));
}

Expected crossed(const at::Tensor& self, const at::Tensor& other, int64_t dim) {
    for (const at::Tensor& factor : {self, other})
        if (size_of(factor, dim) != 3) refuse("dim", "a dimension of 3 elements", c10::str(dim, " of ", shape_text(factor.sizes())));
    return broadcast({{"self", self}, {"other", other}});
}

// Sizes of the matrices that a tensor has.
struct Decomposed {
    const at::Tensor& tensor;
    at::IntArrayRef batch = tensor.sizes().slice(0, tensor.dim() - 2);
    int64_t rows = tensor.size(-2), columns = tensor.size(-1), smaller = std::min(rows, columns);
};
Expected orthogonal(const at::Tensor& self, int64_t mode) {
    const Decomposed of{self};
    return mode == 2 ? shape({0}) : matrices(of.batch, of.rows, mode == 1 ? of.rows : of.smaller);
}
Expected triangular(const at::Tensor& self, int64_t mode) {
    const Decomposed of{self};
    return matrices(of.batch, mode == 1 ? of.rows : of.smaller, of.columns);
}
Expected singular_values(const at::Tensor& input) {
    const Decomposed of{input};
    Expected expected(of.batch, input.scalar_type());
    expected.sizes.push_back(of.smaller);
    return expected;
}
// The shape of the left singular vectors (dim -2) or of the right ones (dim -1).
Expected singular_vectors(const at::Tensor& input, int64_t dim, bool full) {
    const Decomposed of{input};
    return matrices(of.batch, input.size(dim), full ? input.size(dim) : of.smaller);
}

int64_t pairs(const at::Tensor& self) {
    const int64_t rows = self.size(0);
    int64_t ordered = 0;
    if (__builtin_mul_overflow(rows, std::max<int64_t>(rows - 1, 0), &ordered))
        refuse("self", "rows whose pairs can be counted", shape_text(self.sizes()));
    return ordered / 2;
}

at::Tensor permuted_product_of(const at::Tensor& x1, at::IntArrayRef order1, const at::Tensor& x2, at::IntArrayRef order2,
                               int8_t cube_math_type, int64_t factor) {
    return permuted_product(operand(x1.permute(order1), cube_math_type), operand(x2.permute(order2), cube_math_type), factor);
}

// The two equations that the documents list.
constexpr std::string_view kOuter = "a,b->ab";
Expected contracted(at::TensorList tensors, std::string_view equation) {
    if (tensors.size() != 2) refuse("tensors", "2 tensors", std::to_string(tensors.size()));
    const NamedShape first("tensors", tensors[0]), second("tensors", tensors[1]);
    const bool is_outer = equation == kOuter;
    require_rank("tensors", first.sizes, rank(is_outer ? 1 : 4));
    require_rank("tensors", second.sizes, rank(is_outer ? 1 : 5));
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

void write_product(at::Tensor out, const at::Tensor& self, const at::Tensor& mat2, int8_t cube_math_type, const auto& function) {
    auto [left, right] = factors(self, mat2, cube_math_type);
    if (left.dim() > 2 && right.dim() == 2 && left.is_contiguous() && out.is_contiguous()) {  // a product of matrices
        left = left.flatten(0, -2);
        out = out.flatten(0, -2);
    }
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

static void compute(const call::Einsum& a) {
    const auto numbers = [](const at::Tensor& tensor) { return tensor.is_floating_point() ? upcast(tensor) : tensor.to(at::kLong); };
    const at::Tensor first = numbers(a.tensors[0]), second = numbers(a.tensors[1]);
    write(a.output, a.equation == kOuter ? at::outer(first, second) : at::matmul(second, first.unsqueeze(-1)));
}

static void compute(const call::TriangularSolve& a) {
    write_each(at::triangular_solve(upcast(a.self), upcast(a.A), a.upper, a.transpose, a.unitriangular), a.xOut, a.mOut);
}

static void decompose(const at::Tensor& self, std::string_view mode, at::Tensor& Q, at::Tensor& R) {
    const auto [q, r] = at::linalg_qr(upcast(self), mode);
    write(Q, q);
    write(R, r);
}
static void compute(const call::LinalgQr& a) {
    constexpr std::array names{"reduced", "complete", "r"};
    decompose(a.self, names[a.mode], a.Q, a.R);
}
// The last output is V, not the transpose of V.
static void compute(const call::Svd& a) {
    require_finite("input", a.input);
    const auto [left, values, right] = at::_linalg_svd(upcast(a.input), a.fullMatrices, a.computeUV);
    write(a.sigma, values);
    if (!a.computeUV) return;
    write(a.u, left);
    write(a.v, right.mT());
}
