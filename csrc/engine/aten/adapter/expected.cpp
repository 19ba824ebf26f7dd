#include "engine/aten/adapter/expected.h"

#include <c10/core/ScalarType.h>
#include <c10/util/StringUtil.h>

#include <algorithm>

#include "engine/aten/adapter/kinds.h"
#include "engine/runtime/error/error.h"

namespace torch_aclnn::host::aten {
namespace {

bool fits(const at::Tensor& tensor, const Expected& expected) {
    return tensor.sizes() == expected.sizes;
}

void require_type(const char* name, const at::Tensor& tensor, const std::optional<at::ScalarType>& type) {
    if (type && !c10::canCast(*type, tensor.scalar_type()))
        refuse(name, "a data type that " + dtype_name(*type) + " converts to", dtype_name(tensor.scalar_type()));
}

}  // namespace

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

void require_expected(const char* name, const at::Tensor& tensor, const Expected& expected) {
    if (!fits(tensor, expected)) refuse(name, shape_text(expected.sizes), shape_text(tensor.sizes()));
    require_type(name, tensor, expected.type);
}

void require_expected(const char* name, const at::Tensor& tensor, const Either& expected) {
    if (fits(tensor, expected.second)) return;
    if (!fits(tensor, expected.first))
        refuse(name, shape_text(expected.first.sizes) + " or " + shape_text(expected.second.sizes), shape_text(tensor.sizes()));
    require_type(name, tensor, expected.first.type);
}

void require_expected(const char* name, const at::Tensor& tensor, const OrEmpty& expected) {
    if (tensor.numel() != 0) require_expected(name, tensor, expected.wanted);
}

void require_expected(const char* name, const at::Tensor& tensor, const IfWanted& expected) {
    if (expected.wanted) require_expected(name, tensor, expected.expected);
}

void require_expected(const char* name, const at::Tensor& tensor, const Elements& expected) {
    if (tensor.numel() != expected.count) refuse(name, c10::str(expected.count, " elements"), shape_text(tensor.sizes()));
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

void require_expected(const char* name, const at::Tensor& tensor, const Rank& expected) {
    if (tensor.dim() < expected.least || tensor.dim() > expected.most)
        refuse(name, c10::str(expected.most > expected.least ? "at least " : "", expected.least, " dimensions"),
               shape_text(tensor.sizes()));
}

}  // namespace torch_aclnn::host::aten
