#include <algorithm>

#include "contract.h"

namespace fuzz {

using Sizes = std::vector<int64_t>;
using Types = std::set<int>;

static Types floating() {
    return product() == Product::a2 ? Types{ACL_FLOAT, ACL_FLOAT16, ACL_BF16} : Types{ACL_FLOAT, ACL_FLOAT16};
}

static bool has_rank(const TensorSpec& t, size_t lowest, size_t highest) {
    return t.sizes.size() >= lowest && t.sizes.size() <= highest;
}

static bool same_front(const TensorSpec& a, const TensorSpec& b, size_t plane) {
    return a.sizes.size() == b.sizes.size() &&
           std::equal(a.sizes.begin(), a.sizes.end() - static_cast<std::ptrdiff_t>(plane), b.sizes.begin());
}

static int64_t last(const TensorSpec& t, size_t dim) {
    return t.sizes[t.sizes.size() - dim];
}

static bool all_between(const Sizes& values, Wide lowest, Wide highest) {
    return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v >= lowest && v <= highest; });
}

static Wide floor_div(Wide a, Wide b) {
    return a / b - (a % b < 0 ? 1 : 0);
}

static bool average_size_fits(int64_t in, int64_t out, Wide kernel, Wide stride, Wide padding, bool ceil_mode) {
    if (in < 1) return false;
    Wide pooled = floor_div(in + 2 * padding - kernel + (ceil_mode ? stride - 1 : 0), stride) + 1;
    if (ceil_mode && (pooled - 1) * stride >= in + padding) --pooled;
    return pooled >= 1 && pooled == out;
}

// Whether gradient, self and result are planes of `dims` dimensions and of one type; the gradient's planes may have other sizes.
static bool are_planes(const Call& c, const Types& types, size_t dims) {
    const TensorSpec &gradient = c.tensors.front(), &self = c.tensors[1], &result = c.tensors.back();
    for (const TensorSpec* t : {&gradient, &self, &result})
        if (types.count(t->dtype) == 0 || t->dtype != self.dtype || !has_rank(*t, dims + 1, dims + 2)) return false;
    return self.sizes == result.sizes && same_front(gradient, self, dims);
}

// For one of the windows' numbers, which may be one for all dimensions.
static int64_t of_dim(const Sizes& values, size_t d) {
    return values[values.size() == 1 ? 0 : d];
}

static bool average(const Call& c, size_t dims) {
    const TensorSpec &gradient = c.tensors[0], &self = c.tensors[1], &result = c.tensors[2];
    if (dims == 3 && product() != Product::a2) return false;
    if (!are_planes(c, floating(), dims) || self.format != result.format) return false;
    const Sizes &kernel = c.arrays[0].values, &padding = c.arrays[2].values;
    const bool has_stride = c.arrays[1].handle == Handle::live && !c.arrays[1].values.empty();
    const Sizes& stride = has_stride ? c.arrays[1].values : kernel;
    for (const Sizes* values : {&kernel, &stride, &padding})
        if (values->size() != 1 && values->size() != dims) return false;
    if (!all_between(kernel, 1, INT32_MAX) || !all_between(stride, 1, INT32_MAX) || !all_between(padding, 0, INT32_MAX)) return false;
    for (size_t d = 0; d < dims; ++d) {
        const int64_t k = of_dim(kernel, d), s = of_dim(stride, d), p = of_dim(padding, d);
        if (p > k / 2 || !average_size_fits(last(self, dims - d), last(gradient, dims - d), k, s, p, c.ceil_mode)) return false;
    }
    if (dims == 3) return true;
    for (const TensorSpec* t : {&gradient, &self, &result})
        if (t->format != ACL_FORMAT_NCHW && t->format != ACL_FORMAT_NCL) return false;
    if (last(self, 3) > 65535 || c.divisor < -255 || c.divisor > 255 || c.cube_math_type < 0 || c.cube_math_type > 3) return false;
    return product() == Product::a2 || self.dtype != ACL_FLOAT || c.cube_math_type == 1 || c.cube_math_type == 2;
}

static bool same_formats(const Call& c) {
    return c.tensors[0].format == c.tensors[1].format && c.tensors[2].format == c.tensors[1].format;
}

static bool adaptive(const Call& c, size_t dims) {
    if (dims == 3 && product() != Product::a2) return false;
    if (!are_planes(c, floating(), dims) || !same_formats(c)) return false;
    return is_empty(c.tensors[1]) || !is_empty(c.tensors[0]);
}

static bool padding(const Call& c, Kind kind, size_t dims) {
    const bool is_circular = kind == Kind::circular;
    if (product() != Product::a2 && (is_circular || (dims == 3 && product() == Product::inference))) return false;
    Types types = floating();
    if (!is_circular) types.insert({ACL_DOUBLE, ACL_COMPLEX64, ACL_COMPLEX128});
    if (!are_planes(c, types, dims) || !same_formats(c)) return false;
    for (const TensorSpec& t : c.tensors)
        for (size_t d = t.sizes.size() == dims + 2 ? 1 : 0; d < t.sizes.size(); ++d)
            if (t.sizes[d] == 0) return false;
    const TensorSpec &gradient = c.tensors[0], &self = c.tensors[1];
    const Sizes& pad = c.arrays[0].values;
    if (pad.size() != 2 * dims || !all_between(pad, is_circular ? 0 : INT32_MIN, INT32_MAX)) return false;
    for (size_t i = 0; i < pad.size(); ++i) {
        const int64_t size = last(self, i / 2 + 1);
        if (kind == Kind::reflection ? pad[i] >= size : is_circular && pad[i] > size) return false;
        if (Wide{last(gradient, i / 2 + 1)} != Wide{size} + pad[i / 2 * 2] + pad[i / 2 * 2 + 1]) return false;
    }
    return true;
}

static bool is_contiguous(const TensorSpec& t) {
    Wide stride = 1;
    for (size_t d = t.sizes.size(); d-- > 0; stride *= t.sizes[d])
        if (t.sizes[d] != 1 && t.strides[d] != stride) return false;
    return true;
}

static bool unpool(const Call& c, size_t dims) {
    const TensorSpec &gradient = c.tensors[0], &self = c.tensors[1], &indices = c.tensors[2], &result = c.tensors[3];
    if (product() == Product::inference || (indices.dtype != ACL_INT64 && (dims == 3 || indices.dtype != ACL_INT32))) return false;
    Types types{ACL_FLOAT, ACL_FLOAT16, ACL_INT8, ACL_UINT8, ACL_INT16, ACL_INT32, ACL_INT64};
    types.insert(dims == 3 ? ACL_DOUBLE : ACL_BOOL);
    if (!are_planes(c, types, dims) || indices.sizes != self.sizes) return false;
    for (const TensorSpec* t : {&gradient, &self})
        if (std::count(t->sizes.begin() + 1, t->sizes.end(), 0) > 0) return false;
    for (const ArraySpec& array : c.arrays)
        if (array.values.size() != dims) return false;
    const Sizes& plane = c.arrays[0].values;
    if (!all_between(plane, 1, INT32_MAX) ||
        !std::equal(plane.begin(), plane.end(), gradient.sizes.end() - static_cast<std::ptrdiff_t>(dims)))
        return false;
    if (dims == 2) return true;
    const Sizes &stride = c.arrays[1].values, &pad = c.arrays[2].values;
    if (!all_between(stride, 1, INT32_MAX) || !all_between(pad, INT32_MIN, INT32_MAX)) return false;
    return is_empty(result) || is_contiguous(result);
}

static bool batch_norm(const Call& c) {
    if (product() == Product::inference) return false;
    const TensorSpec& input = c.tensors[1];
    if (!has_rank(input, 2, 8) || input.sizes[1] == 0) return false;
    for (size_t i = 0; i < c.tensors.size(); ++i) {
        const TensorSpec& t = c.tensors[i];
        const bool is_image = i < 2 || i == 8, is_counter = i == 7;
        if (is_null(t)) continue;
        const Types types = is_counter ? Types{ACL_FLOAT, ACL_FLOAT16, ACL_INT32} : floating();
        if (types.count(t.dtype) == 0) return false;
        if (is_image && t.sizes != input.sizes) return false;
        if (is_counter && (is_empty(t) || t.sizes.size() > 8)) return false;
        if (!is_image && !is_counter && t.sizes != Sizes{input.sizes[1]}) return false;
    }
    return true;
}

bool keeps_operator_rules(const Call& call) {
    const EntryPoint& e = entry_points()[call.entry_point];
    switch (e.kind) {
        case Kind::average: return average(call, e.dims);
        case Kind::adaptive: return adaptive(call, e.dims);
        case Kind::replication:
        case Kind::reflection:
        case Kind::circular: return padding(call, e.kind, e.dims);
        case Kind::unpool: return unpool(call, e.dims);
        case Kind::batch_norm: return batch_norm(call);
    }
    return false;
}

}  // namespace fuzz
