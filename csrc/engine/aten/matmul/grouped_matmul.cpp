// Several products of matrices in one call: the layers of a mixture of experts, where each expert has its own weight.

#include "engine/aten/adapter/collective.h"
#include "engine/aten/matmul/matmul.h"
#include "vocabulary/matmul/grouped_matmul_calls.h"

namespace {

using OptList = std::optional<std::vector<at::Tensor>>;
using NamedList = std::pair<const char*, const OptList&>;
using Packables = std::vector<PackableTensor>;

// Groups are of rows of x (type 0) or of columns (type 2); with -1, x is a list already.
constexpr int64_t kNoGroups = -1, kRows = 0, kColumns = 2;
// The optional operands that are applied to a product are a tensor for each weight, or one tensor with a row for each weight.
using Grouped = call::GroupedMatmul;

bool has_members(const OptList& list) {
    return list && std::any_of(list->begin(), list->end(), [](const at::Tensor& tensor) { return tensor.numel() > 0; });
}

// One tensor has all weights if it has one dimension more.
int64_t weight_count(const Packables& weight) {
    return weight.size() == 1 && weight[0].sizes().size() == 3 ? weight[0].sizes()[0] : static_cast<int64_t>(weight.size());
}

void require_lists(const Grouped& a, int64_t type, size_t outputs) {
    const Packables &x = a.x, &weight = a.weight;
    const bool one = a.splitItem >= 2, may_be_batches = !one && type == kNoGroups;
    for (const PackableTensor& tensor : x)
        if (tensor.sizes().size() < 2 || (tensor.sizes().size() != 2 && !may_be_batches))
            refuse("x", may_be_batches ? "at least 2 dimensions" : "2 dimensions", shape_text(tensor.sizes()));
    for (const PackableTensor& tensor : weight)
        if (tensor.sizes().size() != 2 && (tensor.sizes().size() != 3 || weight.size() > 1))
            refuse("weight", weight.size() > 1 ? "2 dimensions" : "2 or 3 dimensions", shape_text(tensor.sizes()));
    if (one && outputs != 1) refuse("out", "1 tensor", std::to_string(outputs));
    const int64_t weights = weight_count(weight);
    if (type == kColumns && (x.size() != 1 || weight.size() != 1 || weight[0].sizes().size() != 2))
        refuse("weight", "one tensor of 2 dimensions, as groups are of columns", c10::str(weight.size(), " tensors"));
    if ((type == kNoGroups || x.size() > 1) && static_cast<int64_t>(x.size()) != weights)
        refuse("weight", c10::str("as many as there are x, ", x.size()), std::to_string(weights));
    if (type == kColumns && !one) refuse("splitItem", "2 or 3, as groups are of columns", std::to_string(a.splitItem));
    for (size_t i = 0; i < std::max(x.size(), weight.size()); i++) {
        const std::vector<int64_t> rows = x[std::min(i, x.size() - 1)].sizes(), columns = weight[std::min(i, weight.size() - 1)].sizes();
        if (rows.empty() || columns.size() < 2 || rows.back() != columns[columns.size() - 2])
            refuse("weight", c10::str("the K of x, of shape ", at::IntArrayRef(rows)), shape_text(columns));
    }
}

// Each weight has one value, or one for each column, in a tensor of its own or in a row of a tensor for all. Several rows for a weight
// belong to groups of its rows.
constexpr int64_t kRowsOfWeight = -1;
void require_of_columns(const char* name, const OptList& list, const Packables& weight, int64_t most_rows) {
    if (!has_members(list)) return;
    if (list->size() != weight.size()) refuse(name, c10::str("as many tensors as weight, ", weight.size()), std::to_string(list->size()));
    const bool one_for_all = weight.size() == 1 && weight[0].sizes().size() == 3;
    for (size_t i = 0; i < list->size(); i++) {
        const std::vector<int64_t> sizes = weight[i].sizes();
        const at::IntArrayRef all = list->at(i).sizes();
        if (one_for_all && (all.empty() || all[0] != sizes[0]))
            refuse(name, c10::str("a row for each of ", sizes[0], " weights"), shape_text(all));
        const at::IntArrayRef of_one = all.slice(one_for_all ? 1 : 0);
        const bool fits = of_one.size() < 2 || (of_one.size() == 2 && of_one[0] >= 1 &&
                                                of_one[0] <= (most_rows == kRowsOfWeight ? sizes.rbegin()[1] : most_rows));
        if (!fits || (!of_one.empty() && of_one.back() != 1 && of_one.back() != sizes.back()))
            refuse(name, c10::str("1 value or ", sizes.back(), " for each weight"), shape_text(all));
    }
}

void check(const Grouped& a, int64_t type, size_t outputs) {
    for (const auto& [name, list] : {NamedList{"offset", a.offset},
                                     {"activationInput", a.activationInput},
                                     {"activationQuantScale", a.activationQuantScale},
                                     {"activationQuantOffset", a.activationQuantOffset},
                                     {"activationFeatureOut", a.activationFeatureOut},
                                     {"dynQuantScaleOut", a.dynQuantScaleOut}})
        if (has_members(list)) refuse(name, "null or an empty list: the engine has none", std::to_string(list->size()) + " tensors");
    require_lists(a, type, outputs);
    for (const auto& [name, list] : {NamedList{"bias", a.bias},
                                     {"scale", a.scale},
                                     {"antiquantScale", a.antiquantScale},
                                     {"antiquantOffset", a.antiquantOffset},
                                     {"perTokenScale", a.perTokenScale}})
        if (type == kColumns && has_members(list)) refuse(name, "null or an empty list, as groups are of columns", "tensors");
    if (has_members(a.antiquantOffset) && !has_members(a.antiquantScale))
        refuse_null("antiquantScale", "tensors, as antiquantOffset is given");
    require_of_columns("bias", a.bias, a.weight, 1);
    require_of_columns("scale", a.scale, a.weight, 1);
    require_of_columns("antiquantScale", a.antiquantScale, a.weight, kRowsOfWeight);
    require_of_columns("antiquantOffset", a.antiquantOffset, a.weight, kRowsOfWeight);
    if (!has_members(a.perTokenScale)) return;
    if (a.perTokenScale->size() != a.x.size())
        refuse("perTokenScale", c10::str("as many tensors as x, ", a.x.size()), std::to_string(a.perTokenScale->size()));
    for (size_t i = 0; i < a.x.size(); i++) require_expected("perTokenScale", a.perTokenScale->at(i), without_dim(a.x[i].sizes(), -1));
}

// There is one tensor for all rows; or one for the rows of each x or of each group, whose number is known only when the operator runs; or a
// matrix for each group of columns.
std::vector<Expected> results_of(const Grouped& a, int64_t type, int64_t groups, const char* name, at::TensorList out) {
    const Packables &x = a.x, &weight = a.weight;
    const auto columns = [&](size_t i) { return weight[std::min(i, weight.size() - 1)].sizes().back(); };
    if (out.empty()) refuse(name, "at least 1 tensor", "none");
    std::vector<Expected> expected;
    if (a.splitItem >= 2) {
        int64_t rows = 0;
        for (const PackableTensor& tensor : x)
            if (__builtin_add_overflow(rows, tensor.sizes()[0], &rows))
                refuse("x", "fewer than 2^63 rows", std::to_string(x.size()) + " tensors");
        expected.push_back(type == kColumns && groups > 0 ? shape({groups, rows, columns(0)}) : shape({rows, columns(0)}));
    } else if (x.size() > 1 || groups == 0 || type == kNoGroups) {
        for (size_t i = 0; i < x.size(); i++) expected.push_back(with_size(x[i].sizes(), -1, columns(i)));
    } else {
        require_as_many({{name, out}}, {"groupList", groups});
        for (size_t i = 0; i < out.size(); i++) expected.push_back(shape({out[i].dim() == 2 ? out[i].size(0) : 0, columns(i)}));
    }
    return expected;
}

at::Tensor parameter(const char* name, const OptList& list, int64_t weight, bool one_for_all) {
    if (!one_for_all && weight >= static_cast<int64_t>(list->size()))
        refuse(name, "a tensor for each weight", std::to_string(list->size()));
    return one_for_all ? list->at(0).select(0, weight) : list->at(weight);
}

at::Tensor activated(const at::Tensor& x, int64_t activation) {
    switch (activation) {
        case 1: return at::relu(x);
        case 2: return at::gelu(x, "tanh");
        case 4: return x * at::sigmoid(1.702 * x);
        case 5: return at::silu(x);
        default: return x;
    }
}

// Returns (weight + offset) scale, where a scale is for columns or for groups of rows.
at::Tensor dequantised(const at::Tensor& weight, const Grouped& a, int64_t i, bool one_for_all) {
    const auto of_each_row = [&](const char* name, const OptList& list) {
        const at::Tensor values = to_double(parameter(name, list, i, one_for_all));
        if (values.dim() < 2 || values.size(0) == 1) return values;
        const int64_t rows = weight.size(0);
        return values.repeat_interleave((rows + values.size(0) - 1) / values.size(0), 0).narrow(0, 0, rows);
    };
    const at::Tensor numbers = has_members(a.antiquantOffset) ? weight + of_each_row("antiquantOffset", a.antiquantOffset) : weight;
    return numbers * of_each_row("antiquantScale", a.antiquantScale);
}

// Multiplies by one weight, and applies what is given for it.
at::Tensor product(const at::Tensor& x, const Grouped& a, int64_t i, const OptTensor& row_scale) {
    const bool one_for_all = a.weight.size() == 1 && a.weight[0].sizes().size() == 3;
    at::Tensor weight = one_for_all ? a.weight[0].values().select(0, i) : a.weight.at(i).values();
    const bool integers = x.scalar_type() == at::kChar;
    const bool exact = integers || weight.scalar_type() == at::kChar;
    weight = exact ? to_double(weight) : upcast(weight);
    if (has_members(a.antiquantScale)) weight = dequantised(weight, a, i, one_for_all);
    at::Tensor result = at::matmul(exact ? to_double(x) : upcast(x), weight);
    const at::Tensor bias = has_members(a.bias) ? parameter("bias", a.bias, i, one_for_all) : at::Tensor();
    const bool early = bias.defined() && (!integers || bias.scalar_type() == at::kInt);  // added before the scales
    if (early) result = result + bias.to(result.scalar_type());
    if (has_members(a.scale)) result = result * scale_values(parameter("scale", a.scale, i, one_for_all));
    if (row_scale) result = result * to_double(*row_scale).unsqueeze(-1);
    if (bias.defined() && !early) result = result + to_double(bias);
    return activated(result, a.actType);
}

// Each group's result is a tensor of its own, or some rows of the one output.
class Output {
   public:
    Output(const Grouped& a, at::TensorList out) : out_(out), one_(a.splitItem >= 2) {}
    void add(const at::Tensor& result) {
        if (!one_ && next_ >= static_cast<int64_t>(out_.size())) refuse("out", "a tensor for each group", std::to_string(out_.size()));
        if (one_ && result.size(0) > out_[0].size(0) - next_)
            refuse("out", c10::str("at least ", next_ + result.size(0), " rows"), shape_text(out_[0].sizes()));
        at::Tensor place = one_ ? out_[0].narrow(0, next_, result.size(0)) : out_[next_];
        write_rounded(place, result);
        next_ += one_ ? result.size(0) : 1;
    }

   private:
    at::TensorList out_;
    bool one_;
    int64_t next_ = 0;
};

void multiply(const Grouped& a, int64_t type, at::IntArrayRef list, at::TensorList out) {
    Output output(a, out);
    const auto row_scale = [&](size_t i) -> OptTensor {
        if (!has_members(a.perTokenScale)) return std::nullopt;
        return parameter("perTokenScale", a.perTokenScale, static_cast<int64_t>(i), false);
    };
    if (a.x.size() > 1 || list.empty() || type == kNoGroups) {
        for (size_t i = 0; i < a.x.size(); i++) output.add(product(a.x[i].values(), a, static_cast<int64_t>(i), row_scale(i)));
        return;
    }
    const at::Tensor all = a.x[0].values();
    if (type == kColumns) {
        const at::Tensor rows = upcast(a.weight[0].values());
        const std::vector<Range> groups = groups_of(list, a.groupListType, all.size(1), out[0].size(0));
        for (const Range& group : groups) {
            const at::Tensor sum = at::matmul(upcast(all.narrow(1, group.first, group.size)), rows.narrow(0, group.first, group.size));
            write(out[0].select(0, &group - groups.data()), activated(sum, a.actType));
        }
        return;
    }
    const OptTensor scales = row_scale(0);
    for (const Range& group : groups_of(list, a.groupListType, all.size(0), weight_count(a.weight))) {
        const auto cut = [&](const at::Tensor& tensor) { return tensor.narrow(0, group.first, group.size); };
        output.add(product(cut(all), a, group.weight, scales ? std::optional(cut(*scales)) : std::nullopt));
    }
}

int64_t count_of(const OptNumbers& ends, int64_t) {
    return ends ? static_cast<int64_t>(ends->size()) : 0;
}
int64_t count_of(const OptTensor& list, int64_t type) {
    return list ? list->numel() / (type == 2 ? 2 : 1) : 0;
}

// A list of ends divides the rows of x into groups. Without one x is a list of tensors.
int64_t type_of(const OptNumbers& ends) {
    return ends && !ends->empty() ? kRows : kNoGroups;
}

void prepare_sums(const RanksGroup& group, at::TensorList y) {
    const at::ScalarType type = y.empty() ? at::kHalf : y[0].scalar_type();
    group->set_record(torch_aclnn::host::OperationKind::matmul_all_reduce, type, static_cast<int64_t>(y.size()), HCCL_REDUCE_SUM);
}
void multiply_and_add(const Grouped& a, int64_t type, at::IntArrayRef list) {
    std::vector<at::Tensor> products;
    for (const at::Tensor& out : a.y) products.push_back(at::empty(out.sizes(), at::kFloat));
    multiply(a, type, list, products);
    for (size_t i = 0; i < a.y.size(); i++) write(a.y[i], a.group->all_reduce(products[i]));
}

}  // namespace

// The sums that gradients of weights are added to: {groups, m, n}, or the groups below each other.
static void check(const call::GroupedMatmulAdd& a) {
    if (!a.transposeX) refuse("transposeX", "true", "false");
    require_false("transposeWeight", a.transposeWeight);
    require_between("groupType", a.groupType, kColumns, kColumns);
}
// Adds each group's transposed rows of x times its rows of the weight.
static void compute(const call::GroupedMatmulAdd& a) {
    const at::Tensor sums = a.yRef.view({a.groupList.numel(), a.x.size(1), a.weight.size(1)});
    for (const Range& group : groups_of(numbers(a.groupList), a.groupListType, a.x.size(0), sums.size(0))) {
        const auto cut = [&](const at::Tensor& tensor) { return upcast(tensor.narrow(0, group.first, group.size)); };
        at::Tensor sum = sums.select(0, group.weight);
        sum.add_(at::matmul(cut(a.x).t(), cut(a.weight)));
    }
}
// The gradient of a bias for each group of rows: their sum. Without a list, the groups are the matrices.
static void compute(const call::GroupedBiasAddGrad& a) {
    if (!given(a.groupIdx)) return write(a.out, upcast(a.gradY).sum(1));
    at::Tensor sums = at::zeros(a.out.sizes(), upcast(a.gradY).options());
    for (const Range& rows : groups_of(numbers(a.groupIdx), a.groupIdxType, a.gradY.size(0), a.out.size(0)))
        sums.select(0, rows.weight).copy_(upcast(a.gradY.narrow(0, rows.first, rows.size)).sum(0));
    write(a.out, sums);
}
