// Products with what comes before and behind them in one call: an operand, an activation, a second product, a quantisation.

#include "engine/aten/matmul/matmul.h"
#include "engine/aten/numerics/matmul_precision.h"
#include "vocabulary/matmul/fused_matmul_calls.h"

namespace {

at::Tensor fused(at::Tensor product, const OptTensor& bias, const OptTensor& x3, std::string_view what) {
    if (given(bias)) product = product + upcast(*bias);
    if (what == "relu") return at::relu(product);
    if (what == "gelu_erf") return at::gelu(product);
    if (what == "gelu_tanh") return at::gelu(product, "tanh");
    if (what == "add") return product + upcast(*x3);
    return what == "mul" ? product * upcast(*x3) : product;
}

at::Tensor unit_of(const at::Tensor& x, std::string_view unit) {
    if (unit == "relu") return at::relu(x);
    if (unit == "silu") return at::silu(x);
    return unit == "gelu" ? at::gelu(x) : x * at::sigmoid(1.702 * x);
}

// act(x W1 + b1) W2 + b2, for each expert's rows.
struct FeedForward {
    const call::FFN& a;

    bool has_experts() const { return a.weight1.sizes().size() == 3; }
    int64_t experts() const { return has_experts() ? a.weight1.sizes()[0] : 0; }
    void require() const {
        if (a.activation.ends_with("glu"))
            refuse("activation", "fastgelu, gelu, relu or silu: no page says which half is the gate", std::string(a.activation));
        const std::vector<int64_t> first = a.weight1.sizes(), second = a.weight2.sizes();
        if (second.size() != first.size() || second.front() < experts() || (has_experts() && second[0] != first[0]))
            refuse("weight2", c10::str("as many matrices as weight1, ", at::IntArrayRef(first)), shape_text(second));
        require_factors("x", a.x.sizes().vec(), "weight1", first);
        require_factors("weight1", first, "weight2", second);
        const bool integers = a.x.scalar_type() == at::kChar;
        if (integers != given(a.deqScale1) || given(a.deqScale1) != given(a.deqScale2) || given(a.scale) != given(a.deqScale1))
            refuse("deqScale1", "scale, deqScale1 and deqScale2 with x of INT8, and only then", "others");
        if ((a.weight1.scalar_type() == at::kChar && !integers) != given(a.antiquantScale1) ||
            given(a.antiquantScale1) != given(a.antiquantScale2))
            refuse("antiquantScale1", "antiquantScale1 and antiquantScale2 with weights of INT8, and only then", "others");
        require_columns(first, {{"bias1", a.bias1},
                                {"deqScale1", a.deqScale1},
                                {"antiquantScale1", a.antiquantScale1},
                                {"antiquantOffset1", a.antiquantOffset1}});
        require_columns(second, {{"bias2", a.bias2},
                                 {"deqScale2", a.deqScale2},
                                 {"antiquantScale2", a.antiquantScale2},
                                 {"antiquantOffset2", a.antiquantOffset2}});
        const Expected each = shape({has_experts() ? first[0] : 1});
        const Expected columns = has_experts() ? shape({first[0], first[2]}) : shape({first[1]});
        if (given(a.scale)) require_expected("scale", *a.scale, either(each, columns));
        if (given(a.offset)) require_expected("offset", *a.offset, each);
    }
    // Each column of each matrix has a value.
    static void require_columns(const std::vector<int64_t>& of, std::initializer_list<NamedOptional> parameters) {
        for (const auto& [name, values] : parameters)
            if (given(values)) require_expected(name, *values, of.size() == 3 ? shape({of[0], of[2]}) : shape({of[1]}));
    }
    // Experts share the rows out among them; without experts there is nothing to share.
    void require_tokens(at::IntArrayRef tokens) const {
        if (static_cast<int64_t>(tokens.size()) != experts())
            refuse("expertTokens", c10::str(experts(), " numbers, one for each expert"), std::to_string(tokens.size()));
        const int64_t rows = a.x.numel() / std::max<int64_t>(a.x.size(-1), 1);
        const int64_t all = experts() == 0      ? rows
                            : a.tokensIndexFlag ? tokens.back()
                                                : std::accumulate(tokens.begin(), tokens.end(), int64_t{0});
        if (all != rows) refuse("expertTokens", c10::str("the ", rows, " rows of x in all"), c10::str(tokens));
    }

    // Each matrix has a value, or each of its columns has one.
    at::Tensor of_expert(const OptTensor& values, int64_t expert) const {
        const at::Tensor numbers = scale_values(*values);
        return has_experts() ? numbers.select(0, expert) : numbers;
    }
    at::Tensor matrix(const PackableTensor& weight, const OptTensor& by, const OptTensor& offset, int64_t expert) const {
        at::Tensor numbers = to_double(has_experts() ? weight.values().select(0, expert) : weight.values());
        if (given(offset)) numbers = numbers + of_expert(offset, expert);
        return given(by) ? numbers * of_expert(by, expert) : numbers;
    }
    at::Tensor layer(const at::Tensor& rows, const at::Tensor& weight, const OptTensor& bias, const OptTensor& by, int64_t expert) const {
        at::Tensor result = at::matmul(rows, weight);
        if (given(bias)) result = result + of_expert(bias, expert);
        return given(by) ? result * of_expert(by, expert) : result;
    }
    at::Tensor of_rows(const at::Tensor& rows, int64_t expert) const {
        const at::Tensor first = matrix(a.weight1, a.antiquantScale1, a.antiquantOffset1, expert);
        at::Tensor hidden = unit_of(layer(rows, first, a.bias1, a.deqScale1, expert), a.activation);
        if (given(a.scale)) {
            hidden = hidden * of_expert(a.scale, expert);
            if (given(a.offset)) hidden = hidden + of_expert(a.offset, expert);
            hidden = at::round(hidden).clamp(-128, 127);
        }
        return layer(hidden, matrix(a.weight2, a.antiquantScale2, a.antiquantOffset2, expert), a.bias2, a.deqScale2, expert);
    }
    void run(at::IntArrayRef tokens) const {
        require_tokens(tokens);
        const at::Tensor rows = to_double(a.x).flatten(0, -2);
        if (!has_experts()) return write(a.y, of_rows(rows, 0).view(a.y.sizes()));
        std::vector<at::Tensor> results;
        for (const Range& group : groups_of(tokens, a.tokensIndexFlag ? 0 : 1, rows.size(0), experts()))
            results.push_back(of_rows(rows.narrow(0, group.first, group.size), group.weight));
        write(a.y, at::cat(results).view(a.y.sizes()));
    }
};

// Quantises the rows of x, with scales of its own unless they are given, multiplies and scales back.
struct QuantisingProduct {
    const call::QuantMatmulDequant& a;

    void require(size_t rank) const {
        require_not_given("xOffset", a.xOffset);
        const std::vector<int64_t> sizes = exchanged(a.quantizedWeight.sizes(), a.transposeWeight);
        if (a.quantizedWeight.has_four_bits() || a.quantizedWeight.scalar_type() != at::kChar)
            refuse("quantizedWeight", "INT8", c10::str(a.quantizedWeight.scalar_type()));
        require_factors("x", a.x.sizes().vec(), "quantizedWeight", sizes);
        if (sizes.size() != rank) refuse("quantizedWeight", c10::str(rank, " dimensions"), shape_text(sizes));
        if (given(a.smoothScale)) require_expected("smoothScale", *a.smoothScale, shape({a.x.size(1)}));
        if (given(a.xScale)) require_expected("xScale", *a.xScale, shape({a.xQuantMode == "pertoken" ? a.x.size(0) : 1}));
        const Expected columns = sizes.size() == 3 ? shape({sizes[0], sizes[2]}) : shape({sizes[1]});
        require_expected("weightScale", a.weightScale, columns);
        if (given(a.bias)) require_expected("bias", *a.bias, columns);
    }
    at::Tensor run(at::IntArrayRef groups) const {
        at::Tensor rows = times(to_double(a.x), a.smoothScale);
        const at::Tensor scale = (given(a.xScale) ? to_double(*a.xScale) : quantise_rows(rows, 127).scale).reshape({-1, 1});
        rows = at::where(scale == 0, at::zeros_like(rows), at::round(rows / scale)).clamp(-128, 127);
        const at::Tensor matrices = exchanged(to_double(a.quantizedWeight.values()), a.transposeWeight);
        if (matrices.dim() == 2) return scaled_back(rows, scale, matrices, a.bias, a.weightScale);
        at::Tensor result = at::zeros({a.x.size(0), matrices.size(2)}, at::kDouble);
        for (const Range& group : groups_of(groups, 0, a.x.size(0), matrices.size(0))) {
            const auto cut = [&](const at::Tensor& of) { return of.size(0) == 1 ? of : of.narrow(0, group.first, group.size); };
            const OptTensor bias = given(a.bias) ? OptTensor(a.bias->select(0, group.weight)) : OptTensor();
            result.narrow(0, group.first, group.size)
                .copy_(scaled_back(rows.narrow(0, group.first, group.size), cut(scale), matrices.select(0, group.weight), bias,
                                   a.weightScale.select(0, group.weight)));
        }
        return result;
    }
    // A scale that is given as bits already contains the scale of the rows.
    static at::Tensor scaled_back(const at::Tensor& rows, const at::Tensor& scale, const at::Tensor& matrix, const OptTensor& bias,
                                  const at::Tensor& columns) {
        const at::Tensor result = plus(at::matmul(rows, matrix), bias) * scale_values(columns);
        return at::isFloatingType(columns.scalar_type()) ? result * scale : result;
    }
};

void require_equal_batches(const PackableTensor& x1, const PackableTensor& x2, bool turn1, bool turn2) {
    require_integers(x1, x2, turn1, turn2, "", std::nullopt);
    const std::vector<int64_t> left = x1.sizes(), right = x2.sizes();
    if (left.size() > 3 || left.size() != right.size() || (left.size() == 3 && left[0] != right[0]))
        refuse("x2", c10::str("as many matrices as x1, ", at::IntArrayRef(left)), shape_text(right));
}
at::Tensor biased_product(const PackableTensor& x1, const PackableTensor& x2, bool turn1, bool turn2, const OptTensor& bias) {
    return plus(at::matmul(exchanged(to_double(x1.values()), turn1), exchanged(to_double(x2.values()), turn2)), bias);
}

}  // namespace

static void check(const call::FusedMatmul& a) {
    require_factors("x", a.x.sizes().vec(), "x2", a.x2.sizes().vec());
    if (a.fusedOpType != "add" && a.fusedOpType != "mul") return require_not_given("x3", a.x3);
    if (!given(a.x3)) refuse_null("x3", "a tensor, as fusedOpType has two operands");
}
