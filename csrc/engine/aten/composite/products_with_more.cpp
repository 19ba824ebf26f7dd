// Products with what comes before and behind them in one call: an operand, an activation, a second product, a quantisation.
#include <ATen/ATen.h>

#include <numeric>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/product_precision.h"
#include "engine/aten/adapter/results.h"
#include "engine/aten/composite/products.h"
#include "engine/aten/composite/quantised.h"

#define ATEN_FAMILY "quantisation"
using namespace torch_aclnn::host::aten;

namespace {

using torch_aclnn::host::refuse;

// What is done with a product: nothing, something by itself, or with another operand.
std::string_view read_fused(const char* name, const char* text) {
    return read_choice(name, text, {"", "16cast32", "relu", "gelu_erf", "gelu_tanh", "add", "mul"});
}
at::Tensor fused(const at::Tensor& product, const std::optional<at::Tensor>& x3, std::string_view what) {
    if (what == "relu") return at::relu(product);
    if (what == "gelu_erf") return at::gelu(product);
    if (what == "gelu_tanh") return at::gelu(product, "tanh");
    if (what == "add") return product + upcast(*x3);
    return what == "mul" ? product * upcast(*x3) : product;
}
void require_third(const std::optional<at::Tensor>& x3, std::string_view what, const Expected& product) {
    const bool needed = what == "add" || what == "mul";
    if (needed && !given(x3)) torch_aclnn::host::refuse_null("x3", "a tensor, as fusedOpType has two operands");
    if (needed) require_expected("x3", *x3, broadcasts_to(product));
    if (!needed && given(x3)) refuse("x3", "null, as fusedOpType has one operand", shape_text(x3->sizes()));
}

// Units of a feed-forward network. Those with a gate take the halves of the features.
std::string_view read_unit(const char* name, const char* text) {
    return read_choice(name, text, {"fastgelu", "gelu", "relu", "silu", "geglu", "swiglu", "reglu"});
}
bool is_gated(std::string_view unit) {
    return unit.size() > 2 && unit.substr(unit.size() - 3) == "glu";
}
void require_no_gate(std::string_view unit) {
    if (is_gated(unit)) refuse("activation", "fastgelu, gelu, relu or silu: no page says which half is the gate", std::string(unit));
}
at::Tensor unit_of(const at::Tensor& x, std::string_view unit) {
    if (unit == "relu") return at::relu(x);
    if (unit == "silu") return at::silu(x);
    return unit == "gelu" ? at::gelu(x) : x * at::sigmoid(1.702 * x);
}

using Opt = std::optional<at::Tensor>;

// act(x W1 + b1) W2 + b2, for each expert's rows.
struct FeedForward {
    const at::Tensor& x;
    const PackableTensor &weight1, &weight2;
    const Opt &bias1, &bias2, &scale, &offset, &dequant1, &dequant2, &scale1, &scale2, &offset1, &offset2;
    std::string_view unit;

    bool has_experts() const { return weight1.sizes().size() == 3; }
    void require() const {
        require_no_gate(unit);
        const std::vector<int64_t> first = weight1.sizes(), second = weight2.sizes();
        if (first.size() != 2 && first.size() != 3) refuse("weight1", "2 or 3 dimensions", shape_text(at::IntArrayRef(first)));
        if (second.size() != first.size() || second.front() < (has_experts() ? first[0] : 0) || (has_experts() && second[0] != first[0]))
            refuse("weight2", c10::str("as many matrices as weight1, ", at::IntArrayRef(first)), shape_text(at::IntArrayRef(second)));
        require_factors("x", x.sizes().vec(), "weight1", first);
        require_factors("weight1", first, "weight2", second);
        if ((x.scalar_type() == at::kChar) != given(dequant1) || given(dequant1) != given(dequant2) || given(scale) != given(dequant1))
            refuse("deqScale1", "scale, deqScale1 and deqScale2 with x of INT8, and only then", "others");
        if ((weight1.scalar_type() == at::kChar && x.scalar_type() != at::kChar) != given(scale1) || given(scale1) != given(scale2))
            refuse("antiquantScale1", "antiquantScale1 and antiquantScale2 with weights of INT8, and only then", "others");
        const std::pair<const char*, const Opt*> wide[] = {
            {"bias1", &bias1}, {"deqScale1", &dequant1}, {"antiquantScale1", &scale1}, {"antiquantOffset1", &offset1}};
        for (const auto& [name, values] : wide) require_columns(name, *values, first);
        const std::pair<const char*, const Opt*> narrow[] = {
            {"bias2", &bias2}, {"deqScale2", &dequant2}, {"antiquantScale2", &scale2}, {"antiquantOffset2", &offset2}};
        for (const auto& [name, values] : narrow) require_columns(name, *values, second);
        const int64_t experts = has_experts() ? first[0] : 1;
        const Expected each = shape({experts}), columns = has_experts() ? shape({experts, first[2]}) : shape({first[1]});
        if (given(scale)) require_expected("scale", *scale, either(each, columns));
        if (given(offset)) require_expected("offset", *offset, each);
    }
    // A value for each column of each matrix.
    static void require_columns(const char* name, const Opt& values, const std::vector<int64_t>& of) {
        if (given(values)) require_expected(name, *values, of.size() == 3 ? shape({of[0], of[2]}) : shape({of[1]}));
    }
    // A value for each matrix, or one for each of its columns.
    at::Tensor of_expert(const Opt& values, int64_t expert) const {
        const at::Tensor numbers = scale_values(*values);
        return has_experts() ? numbers.select(0, expert) : numbers;
    }
    at::Tensor matrix(const PackableTensor& weight, const Opt& by, const Opt& plus, int64_t expert) const {
        at::Tensor numbers = to_double(has_experts() ? weight.values().select(0, expert) : weight.values());
        if (given(plus)) numbers = numbers + of_expert(plus, expert);
        return given(by) ? numbers * of_expert(by, expert) : numbers;
    }
    at::Tensor layer(const at::Tensor& rows, const at::Tensor& weight, const Opt& bias, const Opt& by, int64_t expert) const {
        at::Tensor result = at::matmul(rows, weight);
        if (given(bias)) result = result + of_expert(bias, expert);
        return given(by) ? result * of_expert(by, expert) : result;
    }
    at::Tensor of_rows(const at::Tensor& rows, int64_t expert) const {
        at::Tensor hidden = unit_of(layer(rows, matrix(weight1, scale1, offset1, expert), bias1, dequant1, expert), unit);
        if (given(scale)) {
            hidden = hidden * of_expert(scale, expert);
            if (given(offset)) hidden = hidden + of_expert(offset, expert);
            hidden = at::round(hidden).clamp(-128, 127);
        }
        return layer(hidden, matrix(weight2, scale2, offset2, expert), bias2, dequant2, expert);
    }
    void run(at::IntArrayRef tokens, bool ends, at::Tensor& y) const {
        const at::Tensor rows = to_double(x).flatten(0, -2);
        if (!has_experts()) return write(y, of_rows(rows, 0).view(y.sizes()));
        std::vector<at::Tensor> results;
        for (const Range& group : groups_of(tokens, ends ? 0 : 1, rows.size(0), weight1.sizes()[0]))
            results.push_back(of_rows(rows.narrow(0, group.first, group.size), group.weight));
        write(y, at::cat(results).view(y.sizes()));
    }
};

// Experts share the rows out among them; without experts there is nothing to share.
void require_tokens(at::IntArrayRef tokens, bool ends, const FeedForward& network) {
    const int64_t experts = network.has_experts() ? network.weight1.sizes()[0] : 0;
    if (static_cast<int64_t>(tokens.size()) != experts)
        refuse("expertTokens", c10::str(experts, " numbers, one for each expert"), std::to_string(tokens.size()));
    const int64_t rows = network.x.numel() / std::max<int64_t>(network.x.size(-1), 1);
    const int64_t all = experts == 0 ? rows : ends ? tokens.back() : std::accumulate(tokens.begin(), tokens.end(), int64_t{0});
    if (all != rows) refuse("expertTokens", c10::str("the ", rows, " rows of x in all"), c10::str(tokens));
}
at::IntArrayRef or_none(const std::optional<std::vector<int64_t>>& values) {
    return values ? at::IntArrayRef(*values) : at::IntArrayRef();
}

// Quantises the rows of x, with scales of its own unless they are given, multiplies and scales back.
struct QuantisingProduct {
    const at::Tensor& x;
    const PackableTensor& weight;
    const at::Tensor& weight_scale;
    const Opt &bias, &row_scale, &smooth;
    bool transposed, by_rows;

    void require(const Opt& row_offset, size_t rank) const {
        require_not_given("xOffset", row_offset);
        const std::vector<int64_t> sizes = exchanged(weight.sizes(), transposed);
        if (weight.has_four_bits() || weight.scalar_type() != at::kChar) refuse("quantizedWeight", "INT8", c10::str(weight.scalar_type()));
        require_factors("x", x.sizes().vec(), "quantizedWeight", sizes);
        if (sizes.size() != rank) refuse("quantizedWeight", c10::str(rank, " dimensions"), shape_text(at::IntArrayRef(sizes)));
        if (x.dim() != 2) refuse("x", "2 dimensions", shape_text(x.sizes()));
        if (given(smooth)) require_expected("smoothScale", *smooth, shape({x.size(1)}));
        if (given(row_scale)) require_expected("xScale", *row_scale, by_rows ? shape({x.size(0)}) : shape({1}));
        const Expected columns = sizes.size() == 3 ? shape({sizes[0], sizes[2]}) : shape({sizes[1]});
        require_expected("weightScale", weight_scale, columns);
        if (given(bias)) require_expected("bias", *bias, columns);
    }
    bool scale_has_all() const { return !at::isFloatingType(weight_scale.scalar_type()); }

    at::Tensor run(at::IntArrayRef groups) const {
        at::Tensor rows = to_double(x);
        if (given(smooth)) rows = rows * to_double(*smooth);
        const at::Tensor scale = (given(row_scale) ? to_double(*row_scale) : quantise_rows(rows, 127).scale).reshape({-1, 1});
        rows = at::where(scale == 0, at::zeros_like(rows), at::round(rows / scale)).clamp(-128, 127);
        const at::Tensor matrices = exchanged(to_double(weight.values()), transposed);
        if (matrices.dim() == 2) return scaled(rows, scale, matrices, given(bias) ? Opt(*bias) : Opt(), weight_scale);
        at::Tensor result = at::zeros({x.size(0), matrices.size(2)}, at::kDouble);
        for (const Range& group : groups_of(groups, 0, x.size(0), matrices.size(0))) {
            const auto cut = [&](const at::Tensor& of) { return of.size(0) == 1 ? of : of.narrow(0, group.first, group.size); };
            const Opt plus = given(bias) ? Opt(bias->select(0, group.weight)) : Opt();
            result.narrow(0, group.first, group.size)
                .copy_(scaled(rows.narrow(0, group.first, group.size), cut(scale), matrices.select(0, group.weight), plus,
                              weight_scale.select(0, group.weight)));
        }
        return result;
    }
    // A scale of bits has that of the rows in it already.
    at::Tensor scaled(const at::Tensor& rows, const at::Tensor& scale, const at::Tensor& matrix, const Opt& plus,
                      const at::Tensor& columns) const {
        at::Tensor result = at::matmul(rows, matrix);
        if (plus) result = result + to_double(*plus);
        result = result * scale_values(columns);
        return scale_has_all() ? result : result * scale;
    }
};

std::string_view read_scaled_rows(const char* name, const char* text) {
    return read_choice(name, text, {"pertoken", "pertensor"});
}

void require_equal_batches(const PackableTensor& x1, const PackableTensor& x2, bool turn1, bool turn2) {
    require_integers(x1, x2, turn1, turn2, "", std::nullopt);
    const std::vector<int64_t> left = x1.sizes(), right = x2.sizes();
    if (left.size() > 3 || left.size() != right.size() || (left.size() == 3 && left[0] != right[0]))
        refuse("x2", c10::str("as many matrices as x1, ", at::IntArrayRef(left)), shape_text(at::IntArrayRef(right)));
}
at::Tensor biased_product(const PackableTensor& x1, const PackableTensor& x2, bool turn1, bool turn2, const Opt& bias) {
    const at::Tensor product = at::matmul(exchanged(to_double(x1.values()), turn1), exchanged(to_double(x2.values()), turn2));
    return given(bias) ? product + to_double(*bias) : product;
}

}  // namespace

namespace torch_aclnn::host::aten::kind {
using FusedOperation = Kind<const char*, std::string_view, std::string_view, read_fused>;
using FeedForwardUnit = Kind<const char*, std::string_view, std::string_view, read_unit>;
using ScaledRows = Kind<const char*, std::string_view, std::string_view, read_scaled_rows>;
}  // namespace torch_aclnn::host::aten::kind

ATEN_CHECKED_ENTRY(aclnnFusedMatmul, FLOATING,
                   (require_kept_type(x, cubeMathType), require_factors("x", x.sizes().vec(), "x2", x2.sizes().vec()),
                    require_third(x3, fusedOpType, product_shape(x.sizes().vec(), x2.sizes().vec()))),
                   (In, x), (In, x2), (OptIn, bias, or_empty(shape({size_of(x2, -1)}))), (OptIn, x3), (FusedOperation, fusedOpType),
                   (CubeMathType, cubeMathType), (Out, y, product_shape(x.sizes().vec(), x2.sizes().vec()))) {
    const at::Tensor product = at::matmul(operand(x, cubeMathType), operand(x2, cubeMathType));
    write(y, fused(given(bias) ? product + upcast(*bias) : product, x3, fusedOpType));
}

// The first versions: one scale for all, and a scale of bits for each column, of as many as fill blocks of 16.
ATEN_CHECKED_ENTRY(aclnnQuantMatmul, INT8, require_equal_batches(x1, x2, false, false), (Packable, x1), (Packable, x2),
                   (OptIn, bias, or_empty(shape({x2.sizes().back()}))), (Float, deqScale),
                   (Out, out, product_shape(x1.sizes(), x2.sizes()))) {
    write(out, biased_product(x1, x2, false, false, bias) * deqScale);
}
ATEN_CHECKED_ENTRY(aclnnQuantMatmulV2, INT8, require_equal_batches(x1, x2, adjX1, adjX2), (Packable, x1), (Packable, x2),
                   (OptIn, bias, or_empty(shape({exchanged(x2.sizes(), adjX2).back()}))),
                   (In, deqScale, shape({(exchanged(x2.sizes(), adjX2).back() + 15) / 16 * 16})), (Bool, adjX1), (Bool, adjX2),
                   (Out, out, product_shape(exchanged(x1.sizes(), adjX1), exchanged(x2.sizes(), adjX2)))) {
    write(out, biased_product(x1, x2, adjX1, adjX2, bias) * scale_values(deqScale).narrow(0, 0, out.size(-1)));
}

#define QUANTISING(weightScale) \
    (QuantisingProduct{x, quantizedWeight, weightScale, bias, xScale, smoothScale, transposeWeight, xQuantMode == "pertoken"})
ATEN_CHECKED_ENTRY(aclnnQuantMatmulDequant, FLOAT16, QUANTISING(weightScale).require(xOffset, 2), (In, x), (Packable, quantizedWeight),
                   (In, weightScale), (OptIn, bias), (OptIn, xScale), (OptIn, xOffset), (OptIn, smoothScale), (ScaledRows, xQuantMode),
                   (Bool, transposeWeight),
                   (Out, out, product_shape(x.sizes().vec(), exchanged(quantizedWeight.sizes(), transposeWeight)))) {
    write(out, QUANTISING(weightScale).run({}));
}
#define GROUPED_QUANTISING(entry_point, Weight)                                                                                 \
    ATEN_CHECKED_ENTRY(entry_point, FLOAT16, QUANTISING(weightScale).require(xOffset, 3), (In, x), (Weight, quantizedWeight),   \
                       (In, weightScale), (In, groupList, shape({quantizedWeight.sizes()[0]})), (OptIn, bias), (OptIn, xScale), \
                       (OptIn, xOffset), (OptIn, smoothScale), (ScaledRows, xQuantMode), (Bool, transposeWeight),               \
                       (Out, out, shape({x.size(0), exchanged(quantizedWeight.sizes(), transposeWeight).back()}))) {            \
        write(out, QUANTISING(weightScale).run(numbers(groupList)));                                                            \
    }
GROUPED_QUANTISING(aclnnQuantGroupedMatmulDequant, Packable)
GROUPED_QUANTISING(aclnnQuantGroupedMatmulDequantWeightNZ, InBlocks)

#define FEED_FORWARD                                                                                                       \
    (FeedForward{x, weight1, weight2, bias1, bias2, scale, offset, deqScale1, deqScale2, antiquantScale1, antiquantScale2, \
                 antiquantOffset1, antiquantOffset2, activation})
#define FFN(entry_point, Tokens, check, tokens, flag, ...)                                                                           \
    ATEN_CHECKED_ENTRY(entry_point, FLOAT16 | BF16 | INT8, (FEED_FORWARD.require(), check), (In, x), (Packable, weight1),            \
                       (Packable, weight2), (Tokens, expertTokens), (OptIn, bias1), (OptIn, bias2), (OptIn, scale), (OptIn, offset), \
                       (OptIn, deqScale1), (OptIn, deqScale2), (OptIn, antiquantScale1), (OptIn, antiquantScale2),                   \
                       (OptIn, antiquantOffset1), (OptIn, antiquantOffset2), (FeedForwardUnit, activation), (Int, innerPrecise),     \
                       __VA_ARGS__ __VA_OPT__(, )(Out, y, with_size(x.sizes(), -1, weight2.sizes().back()))) {                       \
        FEED_FORWARD.run(tokens, flag, y);                                                                                           \
    }
#define REQUIRE_TOKENS(flag) require_tokens(or_none(expertTokens), flag, FEED_FORWARD)
FFN(aclnnFFN, OptInts, REQUIRE_TOKENS(false), or_none(expertTokens), false)
FFN(aclnnFFNV2, OptInts, REQUIRE_TOKENS(tokensIndexFlag), or_none(expertTokens), tokensIndexFlag, (Bool, tokensIndexFlag))
// The numbers of rows are on the device, so that phase 2 checks them.
static std::vector<int64_t> tokens_of(const Opt& tokens, bool ends, const FeedForward& network) {
    const std::vector<int64_t> values = given(tokens) ? numbers(*tokens) : std::vector<int64_t>();
    require_tokens(values, ends, network);
    return values;
}
FFN(aclnnFFNV3, OptIn, void(), tokens_of(expertTokens, tokensIndexFlag, FEED_FORWARD), tokensIndexFlag, (Bool, tokensIndexFlag))
