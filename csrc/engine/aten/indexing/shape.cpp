// Data movement: joining, repeating, reversing, triangles. The input may be the output's memory, so most compute first and copy.
#include <c10/util/strides.h>

#include <cstdlib>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/pointwise/triangle.h"

using namespace torch_aclnn::host::aten;

namespace torch_aclnn::host::aten::kind {
struct Position : Int {};  // a position beyond an end means the end; the output's shape is what lies between two of them
using Sections = PlainKind<uint64_t>;
}  // namespace torch_aclnn::host::aten::kind

#include "vocabulary/indexing/shape_calls.h"

// The data type that the tensors' promote to; none if ATen has no rule for them.
static std::optional<at::ScalarType> promoted(at::TensorList tensors) {
    at::ScalarType type = tensors[0].scalar_type();
    for (const at::Tensor& tensor : tensors) {
        if (tensor.scalar_type() == type) continue;
        if (c10::isBarebonesUnsignedType(tensor.scalar_type()) || c10::isBarebonesUnsignedType(type)) return std::nullopt;
        type = c10::promoteTypes(type, tensor.scalar_type());
    }
    return type;
}

// One dimension is the sum of the tensors'. ATen leaves out tensors of shape {0}, whatever the others' rank is.
static Expected joined(at::TensorList tensors, int64_t dim) {
    const auto is_left_out = [](const at::Tensor& tensor) { return tensor.dim() == 1 && tensor.size(0) == 0; };
    const auto* const first = std::find_if_not(tensors.begin(), tensors.end(), is_left_out);
    if (first == tensors.end()) return shaped_like(tensors[0]);
    if (first->dim() == 0) refuse("tensors", "at least 1 dimension in each", "none");
    require_dim("dim", dim, first->dim());
    Expected expected = with_size(first->sizes(), dim, 0);
    int64_t whole = 0;
    for (const at::Tensor& tensor : tensors) {
        if (is_left_out(tensor)) continue;
        if (tensor.dim() != first->dim() || with_size(tensor.sizes(), dim, 0).sizes != expected.sizes)
            refuse("tensors", c10::str("the shape of the first, ", first->sizes(), ", but for dimension ", dim),
                   shape_text(tensor.sizes()));
        if (__builtin_add_overflow(whole, tensor.size(dim), &whole))
            refuse("tensors", "fewer than 2^63 elements", shape_text(tensor.sizes()));
    }
    expected = with_size(first->sizes(), dim, whole);
    expected.type = promoted(tensors);
    return expected;
}

// A new dimension has as many elements as there are tensors.
static Expected stacked(at::TensorList tensors, int64_t dim) {
    const at::Tensor& first = tensors[0];
    require_dim("dim", dim, first.dim() + 1);
    for (const at::Tensor& tensor : tensors)
        if (tensor.sizes() != first.sizes())
            refuse("tensors", c10::str("the shape of the first, ", first.sizes()), shape_text(tensor.sizes()));
    Expected expected = shaped_like(first);
    expected.type = promoted(tensors);
    expected.sizes.insert(expected.sizes.begin() + from_front(dim, first.dim() + 1), static_cast<int64_t>(tensors.size()));
    return expected;
}

// The sizes make up the whole dimension, one for each output.
static std::vector<Expected> pieces(const at::Tensor& self, at::IntArrayRef sizes, int64_t dim) {
    if (self.dim() == 0) refuse("self", "a dimension to split", "none");
    require_values("splitSize", sizes, 0);
    int64_t rest = self.size(dim);
    std::vector<Expected> expected;
    for (const int64_t size : sizes) {
        rest = size > rest ? -1 : rest - size;
        if (rest < 0) break;
        expected.push_back(with_size(self.sizes(), dim, size));
    }
    if (rest != 0) refuse("splitSize", c10::str("sizes whose sum is dimension ", dim, "'s, ", self.size(dim)), c10::str(sizes));
    return expected;
}

// Pieces of one size, but for the last, which may have less.
static std::vector<int64_t> equal_sizes(const at::Tensor& self, uint64_t section, int64_t dim, size_t count) {
    if (self.dim() == 0) refuse("self", "a dimension to split", "none");
    if (section == 0) refuse("splitSections", "at least 1", "0");
    const auto whole = static_cast<uint64_t>(self.size(dim));
    const uint64_t pieces = std::max<uint64_t>(whole / section + (whole % section != 0), 1);
    if (count != pieces) refuse("out", c10::str(pieces, " tensors"), std::to_string(count));
    std::vector<int64_t> sizes(pieces, static_cast<int64_t>(std::min(section, whole)));
    sizes.back() = static_cast<int64_t>(whole - (pieces - 1) * section);
    return sizes;
}

// Starts and ends count from the end where they are negative, and stop at it.
static Expected sliced(const at::Tensor& self, int64_t dim, int64_t start, int64_t end, int64_t step) {
    if (self.dim() == 0) refuse("self", "a dimension to slice", "none");
    const int64_t size = self.size(dim);
    const int64_t first = std::clamp<int64_t>(start < 0 ? start + size : start, 0, size);
    const int64_t length = std::clamp<int64_t>(end < 0 ? end + size : end, first, size) - first;
    return {with_size(self.sizes(), dim, length / step + (length % step != 0)).sizes, self.scalar_type()};
}

// The lists have a start, an end and a step for each of the axes.
static Expected sliced(const at::Tensor& self, at::IntArrayRef starts, at::IntArrayRef ends, at::IntArrayRef axes, at::IntArrayRef steps) {
    Expected expected = like(self);
    for (size_t i = 0; i < axes.size(); i++) {
        const int64_t axis = from_front(axes[i], self.dim());
        expected.sizes[axis] = sliced(self, axis, starts[i], ends[i], steps[i]).sizes[axis];
    }
    return expected;
}

static at::Tensor slice(at::Tensor part, at::IntArrayRef starts, at::IntArrayRef ends, at::IntArrayRef axes, at::IntArrayRef steps) {
    for (size_t i = 0; i < axes.size(); i++) part = part.slice(axes[i], starts[i], ends[i], steps[i]);
    return part;
}
static Expected sliced_v2(const at::Tensor& self, at::IntArrayRef starts, at::IntArrayRef ends, at::IntArrayRef axes,
                          at::IntArrayRef steps) {
    require_as_many({{"starts", starts}, {"ends", ends}, {"steps", steps}}, {"axes", axes});
    require_values("steps", steps, 1);
    return sliced(self, starts, ends, axes, steps);
}

// Returns the axes that are given, or else the first `count` of them.
static std::vector<int64_t> assigned_axes(const std::optional<std::vector<int64_t>>& given, size_t count) {
    if (given) return *given;
    std::vector<int64_t> axes(count);
    std::iota(axes.begin(), axes.end(), 0);
    return axes;
}
static Expected assigned(const at::Tensor& var, at::IntArrayRef begin, at::IntArrayRef end, at::IntArrayRef strides,
                         const std::optional<std::vector<int64_t>>& given) {
    const std::vector<int64_t> axes = assigned_axes(given, begin.size());
    require_as_many({{"end", end}, {"strides", strides}, {"axesOptional", axes}}, {"begin", begin});
    require_values("strides", strides, 1);
    if (static_cast<int64_t>(axes.size()) > var.dim())
        refuse("begin", c10::str("at most the ", var.dim(), " dimensions of varRef"), c10::str(begin));
    for (size_t i = 0; i < axes.size(); i++)
        if (from_front(axes[i], var.dim()) == var.dim() - 1 && strides[i] != 1)
            refuse("strides", "1 for the last dimension", c10::str(strides));
    return sliced(var, begin, end, axes, strides);
}

// The shape of a matrix with a vector on its diagonal, or of the diagonal of a matrix.
static Expected diagonal_of(const at::Tensor& self, int64_t diagonal) {
    if (self.dim() != 1 && self.dim() != 2) refuse("self", "1 or 2 dimensions", shape_text(self.sizes()));
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    require_between("diagonal", diagonal, -kMost, kMost);
    if (self.dim() == 1) return Expected(at::DimVector(2, self.size(0) + std::abs(diagonal)), self.scalar_type());
    return {at::diagonal(self, std::clamp(diagonal, -self.size(0), self.size(1))).sizes(), self.scalar_type()};
}

// The shape of a matrix that has all elements on its diagonal.
static Expected on_diagonal(const at::Tensor& self, int64_t diagonal) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    require_between("diagonal", diagonal, -kMost, kMost);
    return Expected(at::DimVector(2, self.numel() + std::abs(diagonal)), self.scalar_type());
}

// The dimensions before the axis are one, and those from it on another.
static Expected flattened(const at::Tensor& self, int64_t axis) {
    const auto product = [&](at::IntArrayRef sizes) {
        int64_t whole = 1;
        for (const int64_t size : sizes)
            if (__builtin_mul_overflow(whole, size, &whole)) refuse("self", "dimensions whose product is below 2^63", shape_text(sizes));
        return whole;
    };
    const size_t before = self.dim() == 0 ? 0 : from_front(axis, self.dim());
    return {shape({product(self.sizes().slice(0, before)), product(self.sizes().slice(before))}).sizes, self.scalar_type()};
}

// What at::unfold made of a tensor of those sizes: the number of windows along the dimension, and a window behind the others.
static Expected unfolded(at::IntArrayRef sizes, int64_t dim, int64_t size, int64_t step) {
    if (sizes.empty()) refuse("inputSizes", "at least 1 dimension", "none");
    require_dim("dim", dim, sizes.size());
    const int64_t place = from_front(dim, static_cast<int64_t>(sizes.size()));
    if (size > sizes[place]) refuse("size", c10::str("at most dimension ", dim, "'s, ", sizes[place]), c10::str(size));
    Expected expected = with_size(sizes, dim, (sizes[place] - size) / step + 1);
    expected.sizes.push_back(size);
    return expected;
}

static Expected expanded(const at::Tensor& self, at::IntArrayRef size) {
    const size_t rank = self.sizes().size();
    if (size.size() < rank) refuse("size", c10::str("a size for each of the ", rank, " dimensions of self"), c10::str(size));
    Expected expected(size, self.scalar_type());
    for (size_t d = 0; d < rank; d++) {
        int64_t& wanted = expected.sizes[size.size() - rank + d];
        const int64_t own = self.size(static_cast<int64_t>(d));
        if (wanted == -1) wanted = own;
        if (own != 1 && wanted != own) refuse("size", "a shape to which self expands, of " + shape_text(self.sizes()), c10::str(size));
    }
    return expected;
}

static Expected permuted(const at::Tensor& self, at::IntArrayRef dims) {
    if (static_cast<int64_t>(dims.size()) != self.dim())
        refuse("dims", c10::str("each of the ", self.dim(), " dimensions of self"), c10::str(dims));
    Expected expected = like(self);
    for (size_t d = 0; d < dims.size(); d++) expected.sizes[d] = self.size(dims[d]);
    return expected;
}

// The repeats of the last dimensions are those of self; those before them make new dimensions.
static Expected repeated(const at::Tensor& self, at::IntArrayRef repeats) {
    if (static_cast<int64_t>(repeats.size()) < self.dim() || std::any_of(repeats.begin(), repeats.end(), [](int64_t n) { return n < 0; }))
        refuse("repeats", c10::str("numbers from 0 on for at least the ", self.dim(), " dimensions of self"), c10::str(repeats));
    Expected expected(repeats, self.scalar_type());
    const size_t before = repeats.size() - self.dim();
    for (int64_t d = 0; d < self.dim(); d++)
        if (__builtin_mul_overflow(repeats[before + d], self.size(d), &expected.sizes[before + d]))
            refuse("repeats", "sizes below 2^63", c10::str(repeats));
    return expected;
}

static Expected matrices(const char* name, const at::Tensor& tensor) {
    if (tensor.dim() < 2) refuse(name, "at least 2 dimensions", shape_text(tensor.sizes()));
    return like(tensor);
}

// There is one number for all elements, or one for each.
static Expected repeats_of(const at::Tensor& repeats, int64_t elements) {
    return repeats.numel() == 1 && repeats.dim() <= 1 ? shaped_like(repeats) : shape({elements});
}
static void require_output_size(int64_t output_size, int64_t repeats, int64_t elements) {
    int64_t expected = 0;
    if (__builtin_mul_overflow(repeats, elements, &expected) || output_size != expected)
        refuse("outputSize", c10::str(elements, " elements times ", repeats), c10::str(output_size));
}
// Checks the numbers of repeats first, because ATen writes the copies of one before it reads the next. A single number applies to all
// elements.
static const at::Tensor& checked_repeats(const at::Tensor& repeats, int64_t elements, int64_t copies) {
    require_range("repeats", repeats, 0, copies + 1);
    const at::Tensor sum = repeats.sum();
    const int64_t found = sum.item<int64_t>() * (repeats.numel() == 1 ? elements : 1);
    if (found != copies) refuse(ACL_ERROR_RT_AICORE_EXCEPTION, "repeats", c10::str("values with the sum ", copies), c10::str(found));
    return repeats;
}
// With one number for all elements, their count follows from nothing else.
static Expected repeat_interleaved_gradient(const at::Tensor& grad, const at::Tensor& repeats, int64_t dim, const at::Tensor& out) {
    if (repeats.numel() != 1) return with_size(grad.sizes(), dim, repeats.numel());
    return grad.dim() > 0 && out.dim() == grad.dim() ? with_size(grad.sizes(), dim, out.size(dim)) : like(grad);
}

// Without dimensions, the input counts as flat and there is one shift.
static void check(const call::Roll& a) {
    require_as_many({{"shifts", a.shifts}}, a.dims.empty() ? NamedCount("a flat tensor", 1) : NamedCount("dims", a.dims));
    for (const int64_t dim : a.dims) require_dim("dims", dim, a.self.dim());
}
// ATen divides by the stride that a dimension of one element happens to have.
static void compute(const call::Cat& a) {
    at::Tensor result = a.out.is_contiguous() ? a.out.as_strided(a.out.sizes(), c10::contiguous_strides(a.out.sizes())) : a.out;
    at::cat_out(result, a.tensors, a.dim);
}

static void compute(const call::SplitWithSize& a) {
    const auto parts = a.self.split_with_sizes(a.splitSize, a.dim);
    for (size_t i = 0; i < parts.size(); ++i) a.out[i].copy_(parts[i]);
}

static void compute(const call::SplitTensor& a) {
    const auto parts = a.self.split_with_sizes(equal_sizes(a.self, a.splitSections, a.dim, a.out.size()), a.dim);
    for (size_t i = 0; i < parts.size(); ++i) a.out[i].copy_(parts[i]);
}

static void compute(const call::Diag& a) {
    const bool of_matrix = a.self.dim() == 2;
    write(a.out,
          of_matrix ? at::diagonal(a.self, std::clamp(a.diagonal, -a.self.size(0), a.self.size(1))) : at::diag_embed(a.self, a.diagonal));
}

// Every element's gradient is the sum over its copies.
static void compute(const call::RepeatInterleaveGrad& a) {
    const at::Tensor copies = upcast(a.yGrad);
    const int64_t elements = a.repeats.numel() == 1 ? size_of(a.out, a.dim) : a.repeats.numel();
    const at::Tensor counts = checked_repeats(a.repeats, elements, size_of(copies, a.dim)).reshape({-1}).expand({elements});
    write(a.out, at::zeros(a.out.sizes(), copies.options()).index_add_(a.dim, at::repeat_interleave(counts), copies));
}
