#include "engine/aten/adapter/expected.h"

#include <c10/core/ScalarType.h>

namespace torch_aclnn::host::aten {

static bool fits(at::IntArrayRef sizes, const Expected& expected) {
    return std::equal(sizes.begin(), sizes.end(), expected.sizes.begin(), expected.sizes.end(),
                      [](int64_t size, int64_t wanted) { return wanted == kAny || size == wanted; });
}

static std::string text_of(const Expected& expected) {
    std::string text;
    for (const int64_t size : expected.sizes) text += (text.empty() ? "" : ", ") + (size == kAny ? "any" : std::to_string(size));
    return "shape [" + text + "]";
}

static void require_type(const char* name, const at::Tensor& tensor, const std::optional<at::ScalarType>& type) {
    const at::ScalarType own = tensor.scalar_type();
    if (type && !c10::canCast(*type, own))
        refuse(name, "a data type that " + dtype_name(*type) + " converts to",
               c10::str(dtype_name(own), ": result type ", *type, " can't be cast to the desired output type ", own));
}

std::vector<Expected> like(at::TensorList tensors) {
    std::vector<Expected> expected;
    for (const at::Tensor& tensor : tensors) expected.push_back(like(tensor));
    return expected;
}

std::vector<Expected> shaped_like(at::TensorList tensors) {
    std::vector<Expected> expected;
    for (const at::Tensor& tensor : tensors) expected.push_back(shaped_like(tensor));
    return expected;
}

Expected with_size(at::IntArrayRef sizes, int64_t dim, int64_t size) {
    Expected expected(sizes);
    if (!sizes.empty()) expected.sizes[from_front(dim, static_cast<int64_t>(sizes.size()))] = size;
    return expected;
}

Expected without_dim(at::IntArrayRef sizes, int64_t dim) {
    Expected expected(sizes);
    if (!sizes.empty()) expected.sizes.erase(expected.sizes.begin() + from_front(dim, static_cast<int64_t>(sizes.size())));
    return expected;
}

Expected with_rows(const at::Tensor& tensor, int64_t rows) {
    return tensor.dim() == 0 ? shape({rows}) : with_size(tensor.sizes(), 0, rows);
}

Expected halved(const char* name, const at::Tensor& tensor, int64_t dim) {
    require_even({name, tensor}, dim);
    return with_size(tensor.sizes(), dim, tensor.size(dim) / 2).as(tensor.scalar_type());
}

Expected reduced(const at::Tensor& tensor, at::IntArrayRef dims, bool keep) {
    const at::IntArrayRef sizes = tensor.sizes();
    Expected expected{at::IntArrayRef()};
    for (int64_t d = 0; d < static_cast<int64_t>(sizes.size()); d++) {
        const bool named =
            std::any_of(dims.begin(), dims.end(), [&](int64_t dim) { return from_front(dim, static_cast<int64_t>(sizes.size())) == d; });
        if (!named && !dims.empty())
            expected.sizes.push_back(sizes[d]);
        else if (keep)
            expected.sizes.push_back(1);
    }
    return expected;
}

Expected chosen(const at::Tensor& self, at::IntArrayRef dims, bool keep) {
    for (int64_t d = 0; self.numel() == 0 && d < self.dim(); d++)
        if (self.size(d) == 0 &&
            (dims.empty() || std::any_of(dims.begin(), dims.end(), [&](int64_t dim) { return from_front(dim, self.dim()) == d; })))
            refuse("self", c10::str("elements in dimension ", d, ", to choose one of them"), shape_text(self.sizes()));
    return reduced(self, dims, keep);
}

Expected broadcast(std::initializer_list<NamedShape> operands) {
    Expected expected{at::IntArrayRef()};
    for (const NamedShape& operand : operands) {
        const size_t rank = operand.sizes.size();
        if (rank > expected.sizes.size()) expected.sizes.insert(expected.sizes.begin(), rank - expected.sizes.size(), 1);
        for (size_t d = 0; d < rank; d++) {
            int64_t& size = expected.sizes[expected.sizes.size() - rank + d];
            if (operand.sizes[d] == 1 || operand.sizes[d] == size) continue;
            if (size != 1) refuse(operand.name, "a shape that broadcasts with those of the operands before it", shape_text(operand.sizes));
            size = operand.sizes[d];
        }
    }
    return expected;
}

void require_sizes(const char* name, at::IntArrayRef sizes, const Expected& expected, const char* unit) {
    if (!fits(sizes, expected)) refuse(name, text_of(expected) + unit, shape_text(sizes));
}

void require_rank(const char* name, at::IntArrayRef sizes, const Rank& expected) {
    const auto rank = static_cast<int64_t>(sizes.size()), least = expected.least, most = expected.most;
    if (least <= rank && rank <= most) return;
    const std::string more = least == most ? "" : most == least + 1 ? c10::str(" or ", most) : c10::str(" to ", most);
    refuse(name, c10::str(most == kMaxRank ? "at least " : "", least, most == kMaxRank ? "" : more, " dimension", most == 1 ? "" : "s"),
           shape_text(sizes));
}

void require_expected(const char* name, const at::Tensor& tensor, const Expected& expected) {
    require_sizes(name, tensor.sizes(), expected);
    require_type(name, tensor, expected.type);
}

void require_expected(const char* name, const at::Tensor& tensor, const Either& expected) {
    if (fits(tensor.sizes(), expected.second)) return;
    if (!fits(tensor.sizes(), expected.first))
        refuse(name, text_of(expected.first) + " or " + text_of(expected.second), shape_text(tensor.sizes()));
    require_type(name, tensor, expected.first.type);
}

void require_expected(const char* name, const at::Tensor& tensor, const Elements& expected) {
    const int64_t count = tensor.numel();
    if (count == expected.count || (expected.or_more && count > expected.count)) return;
    refuse(name, c10::str(expected.or_more ? "at least " : "", expected.count, " elements"), shape_text(tensor.sizes()));
}

void require_expected(const char* name, const at::Tensor& tensor, const BroadcastsTo& expected) {
    const int64_t before = static_cast<int64_t>(expected.sizes.size()) - tensor.dim();
    bool fits = before >= 0;
    for (int64_t d = 0; fits && d < tensor.dim(); d++) fits = tensor.size(d) == 1 || tensor.size(d) == expected.sizes[before + d];
    if (!fits) refuse(name, c10::str("a tensor that broadcasts to shape ", at::IntArrayRef(expected.sizes)), shape_text(tensor.sizes()));
}

void require_expected(const char* name, const at::Tensor& tensor, const Within& expected) {
    const at::IntArrayRef sizes = expected.other.sizes;
    bool fits = tensor.numel() == 0 || std::max<int64_t>(tensor.dim(), 1) == std::max<int64_t>(sizes.size(), 1);
    for (int64_t d = 0; fits && tensor.numel() > 0 && d < std::min<int64_t>(tensor.dim(), sizes.size()); d++)
        fits = d == expected.except_dim || tensor.size(d) <= sizes[d];
    if (!fits)
        refuse(name, c10::str("at most the sizes of ", expected.other.name, ", ", sizes, ", but for dimension ", expected.except_dim),
               shape_text(tensor.sizes()));
}

void require_expected(const char* name, const at::Tensor& tensor, const Covers& expected) {
    const at::IntArrayRef sizes = expected.other.sizes;
    const bool is_empty = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
    bool fits = is_empty || std::max<int64_t>(tensor.dim(), 1) == std::max<int64_t>(sizes.size(), 1);
    for (int64_t d = 0; fits && !is_empty && d < std::min<int64_t>(tensor.dim(), sizes.size()); d++) fits = tensor.size(d) >= sizes[d];
    if (!fits) refuse(name, c10::str("at least the sizes of ", expected.other.name, ", ", sizes), shape_text(tensor.sizes()));
}

void require_expected(const char* name, const at::Tensor& tensor, const Multiple& expected) {
    const int64_t count = tensor.numel(), divisor = expected.divisor;
    if (divisor == 0 ? count != 0 : count % divisor != 0)
        refuse(name, c10::str("a multiple of ", divisor, " values"), shape_text(tensor.sizes()));
}

void require_expected(const char* name, const at::Tensor& tensor, const Rank& expected) {
    require_rank(name, tensor.sizes(), expected);
}

void require_expected(const char* name, const at::Tensor& tensor, const RowsFrom& expected) {
    if (tensor.dim() != 2 || tensor.size(0) < expected.least)
        refuse(name, c10::str("2 dimensions, and at least ", expected.least, " rows"), shape_text(tensor.sizes()));
}

}  // namespace torch_aclnn::host::aten
