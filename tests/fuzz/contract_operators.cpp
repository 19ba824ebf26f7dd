#include <algorithm>

#include "contract.h"

namespace fuzz {
namespace {

using Sizes = std::vector<int64_t>;
using Types = std::set<int>;

Types floating() {
    return product() == Product::a2 ? Types{ACL_FLOAT, ACL_FLOAT16, ACL_BF16} : Types{ACL_FLOAT, ACL_FLOAT16};
}

bool has_rank(const TensorSpec& t, size_t lowest, size_t highest) {
    return t.sizes.size() >= lowest && t.sizes.size() <= highest;
}

bool same_front(const TensorSpec& a, const TensorSpec& b, size_t plane) {
    return a.sizes.size() == b.sizes.size() &&
           std::equal(a.sizes.begin(), a.sizes.end() - static_cast<std::ptrdiff_t>(plane), b.sizes.begin());
}

int64_t last(const TensorSpec& t, size_t dim) {
    return t.sizes[t.sizes.size() - dim];
}

bool all_between(const Sizes& values, Wide lowest, Wide highest) {
    return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v >= lowest && v <= highest; });
}

Wide floor_div(Wide a, Wide b) {
    return a / b - (a % b < 0 ? 1 : 0);
}

bool average_size_fits(int64_t in, int64_t out, Wide kernel, Wide stride, Wide padding, bool ceil_mode) {
    if (in < 1) return false;
    Wide pooled = floor_div(in + 2 * padding - kernel + (ceil_mode ? stride - 1 : 0), stride) + 1;
    if (ceil_mode && (pooled - 1) * stride >= in + padding) --pooled;
    return pooled >= 1 && pooled == out;
}

bool average(const Call& c) {
    const TensorSpec &gradient = c.tensors[0], &self = c.tensors[1], &result = c.tensors[2];
    for (const TensorSpec* t : {&gradient, &self, &result})
        if (floating().count(t->dtype) == 0 || t->dtype != self.dtype || !has_rank(*t, 3, 4) ||
            (t->format != ACL_FORMAT_NCHW && t->format != ACL_FORMAT_NCL))
            return false;
    if (self.format != result.format || self.sizes != result.sizes || !same_front(gradient, self, 2)) return false;
    if (last(self, 3) > 65535) return false;
    const Sizes &kernel = c.arrays[0].values, &padding = c.arrays[2].values;
    const bool has_stride = c.arrays[1].handle == Handle::live && !c.arrays[1].values.empty();
    const Sizes& stride = has_stride ? c.arrays[1].values : kernel;
    for (const Sizes* values : {&kernel, &stride, &padding})
        if (values->empty() || values->size() > 2) return false;
    if (!all_between(kernel, 1, INT32_MAX) || !all_between(stride, 1, INT32_MAX) || !all_between(padding, 0, INT32_MAX)) return false;
    for (size_t d = 0; d < 2; ++d) {
        const int64_t k = d == 0 ? kernel.front() : kernel.back(), s = d == 0 ? stride.front() : stride.back();
        const int64_t p = d == 0 ? padding.front() : padding.back();
        if (p > k / 2 || !average_size_fits(last(self, 2 - d), last(gradient, 2 - d), k, s, p, c.ceil_mode)) return false;
    }
    if (c.divisor < -255 || c.divisor > 255 || c.cube_math_type < 0 || c.cube_math_type > 3) return false;
    return product() == Product::a2 || self.dtype != ACL_FLOAT || c.cube_math_type == 1 || c.cube_math_type == 2;
}

bool adaptive(const Call& c, size_t plane) {
    const TensorSpec &gradient = c.tensors[0], &self = c.tensors[1], &result = c.tensors[2];
    if (plane == 3 && product() != Product::a2) return false;
    for (const TensorSpec* t : {&gradient, &self, &result})
        if (floating().count(t->dtype) == 0 || t->dtype != self.dtype || t->format != self.format || !has_rank(*t, plane + 1, plane + 2))
            return false;
    if (self.sizes != result.sizes || !same_front(gradient, self, plane)) return false;
    return is_empty(self) || !is_empty(gradient);
}

bool padding(const Call& c, bool reflects) {
    const TensorSpec &gradient = c.tensors[0], &self = c.tensors[1], &result = c.tensors[2];
    Types types = floating();
    types.insert({ACL_DOUBLE, ACL_COMPLEX64, ACL_COMPLEX128});
    for (const TensorSpec* t : {&gradient, &self, &result}) {
        if (types.count(t->dtype) == 0 || t->dtype != self.dtype || t->format != self.format || !has_rank(*t, 3, 4)) return false;
        for (size_t d = t->sizes.size() == 4 ? 1 : 0; d < t->sizes.size(); ++d)
            if (t->sizes[d] == 0) return false;
    }
    const Sizes& pad = c.arrays[0].values;
    if (self.sizes != result.sizes || !same_front(gradient, self, 2) || pad.size() != 4 || !all_between(pad, INT32_MIN, INT32_MAX))
        return false;
    for (size_t i = 0; i < 4; ++i)
        if (reflects && pad[i] >= last(self, i < 2 ? 1 : 2)) return false;
    return Wide{last(gradient, 1)} == Wide{last(self, 1)} + pad[0] + pad[1] &&
           Wide{last(gradient, 2)} == Wide{last(self, 2)} + pad[2] + pad[3];
}

bool is_contiguous(const TensorSpec& t) {
    Wide stride = 1;
    for (size_t d = t.sizes.size(); d-- > 0; stride *= t.sizes[d])
        if (t.sizes[d] != 1 && t.strides[d] != stride) return false;
    return true;
}

bool unpool(const Call& c) {
    const TensorSpec &gradient = c.tensors[0], &self = c.tensors[1], &indices = c.tensors[2], &result = c.tensors[3];
    if (product() == Product::inference || indices.dtype != ACL_INT64) return false;
    const Types types{ACL_FLOAT, ACL_FLOAT16, ACL_DOUBLE, ACL_INT8, ACL_UINT8, ACL_INT16, ACL_INT32, ACL_INT64};
    for (const TensorSpec* t : {&gradient, &self, &result})
        if (types.count(t->dtype) == 0 || t->dtype != self.dtype) return false;
    for (const TensorSpec* t : {&gradient, &self, &indices, &result})
        if (!has_rank(*t, 4, 5) || !same_front(*t, self, 3)) return false;
    if (indices.sizes != self.sizes || result.sizes != self.sizes) return false;
    for (const TensorSpec* t : {&gradient, &self})
        if (std::count(t->sizes.begin() + 1, t->sizes.end(), 0) > 0) return false;
    const Sizes &plane = c.arrays[0].values, &stride = c.arrays[1].values, &pad = c.arrays[2].values;
    for (const Sizes* values : {&plane, &stride, &pad})
        if (values->size() != 3) return false;
    if (!all_between(plane, 1, INT32_MAX) || !all_between(stride, 1, INT32_MAX) || !all_between(pad, INT32_MIN, INT32_MAX)) return false;
    if (!std::equal(plane.begin(), plane.end(), gradient.sizes.end() - 3)) return false;
    return is_empty(result) || is_contiguous(result);
}

bool batch_norm(const Call& c) {
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

}  // namespace

bool keeps_operator_rules(const Call& call) {
    switch (entry_points()[call.entry_point].kind) {
        case Kind::average: return average(call);
        case Kind::adaptive2d: return adaptive(call, 2);
        case Kind::adaptive3d: return adaptive(call, 3);
        case Kind::replication: return padding(call, false);
        case Kind::reflection: return padding(call, true);
        case Kind::unpool: return unpool(call);
        case Kind::batch_norm: return batch_norm(call);
    }
    return false;
}

}  // namespace fuzz
