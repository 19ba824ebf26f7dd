#include <algorithm>

#include "decode.h"

namespace fuzz {

using Sizes = std::vector<int64_t>;

template <size_t count>
static aclDataType one_of(Bytes& bytes, const aclDataType (&dtypes)[count]) {
    return dtypes[bytes.below(count)];
}

static aclDataType floating(Bytes& bytes) {
    return one_of(bytes, {ACL_FLOAT, ACL_FLOAT16, ACL_BF16});
}

static aclFormat usual_format(const Sizes& sizes, bool only_images) {
    if (only_images || sizes.size() == 4) return sizes.size() == 3 ? ACL_FORMAT_NCL : ACL_FORMAT_NCHW;
    return sizes.size() == 5 ? ACL_FORMAT_NCDHW : ACL_FORMAT_ND;
}

static int64_t reach(const TensorSpec& t) {
    int64_t end = 1;
    for (size_t d = 0; d < t.sizes.size(); ++d) end += (t.sizes[d] - 1) * t.strides[d];
    return std::count(t.sizes.begin(), t.sizes.end(), 0) > 0 ? 0 : end;
}

// Strides of the dimensions in another order: channels last.
static Sizes permuted_strides(const Sizes& sizes) {
    Sizes strides(sizes.size());
    int64_t stride = 1;
    for (size_t i = 0; i < sizes.size(); ++i) {
        const size_t d = i == 0 ? std::min<size_t>(1, sizes.size() - 1) : sizes.size() - i;
        if (strides[d] != 0) continue;
        strides[d] = stride;
        stride *= std::max<int64_t>(sizes[d], 1);
    }
    for (int64_t& s : strides)
        if (s == 0) s = stride;
    return strides;
}

static void choose_layout(Bytes& bytes, TensorSpec& t, Role role) {
    const bool dense_only = role == Role::written;
    switch (bytes.below(8)) {
        case 4: t.strides = permuted_strides(t.sizes); break;
        case 5:
            for (int64_t& stride : t.strides) stride *= 2;
            t.offset = bytes.between(0, 3);
            break;
        case 6:
            if (!dense_only && !t.strides.empty()) t.strides[bytes.below(t.strides.size())] = 0;
            break;
        case 7: t.offset = bytes.between(0, 7); break;
        default: t.null_strides = bytes.rarely(64); break;
    }
}

static TensorSpec tensor(Bytes& bytes, Sizes sizes, aclDataType dtype, aclFormat format, Role role) {
    TensorSpec t;
    t.sizes = std::move(sizes);
    t.strides = contiguous_strides(t.sizes);
    t.dtype = dtype;
    t.format = format;
    choose_layout(bytes, t, role);
    const int64_t count = t.offset + reach(t) + (bytes.rarely(64) ? bytes.between(1, 9) : 0);
    t.storage = {count};
    t.shift = bytes.rarely(64) ? 512 : 0;
    t.block_bytes = t.shift + static_cast<size_t>(std::max<int64_t>(count, 1) * item_size(dtype));
    return t;
}

static Sizes leading(Bytes& bytes) {
    Sizes sizes;
    if (bytes.rarely(170)) sizes.push_back(bytes.between(bytes.rarely(24) ? 0 : 1, 3));
    sizes.push_back(bytes.between(1, 5));
    return sizes;
}

static Sizes joined(Sizes first, const Sizes& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

// Gradient, self and result of an operator that has these three.
static void add_images(Bytes& bytes, Call& call, const Sizes& gradient, const Sizes& image, aclDataType dtype, aclFormat format) {
    call.tensors.push_back(tensor(bytes, gradient, dtype, format, Role::read));
    call.tensors.push_back(tensor(bytes, image, dtype, format, Role::shape_only));
    call.tensors.push_back(tensor(bytes, image, dtype, format, Role::written));
}

static int64_t pooled(int64_t in, int64_t kernel, int64_t stride, int64_t padding, bool ceil_mode) {
    int64_t out = (in + 2 * padding - kernel + (ceil_mode ? stride - 1 : 0)) / stride + 1;
    if (ceil_mode && (out - 1) * stride >= in + padding) --out;
    return out;
}

static void average(Bytes& bytes, Call& call, size_t dims) {
    const Sizes front = leading(bytes);
    Sizes in, out, kernel, stride, padding;
    call.ceil_mode = bytes.rarely(100);
    call.count_include_pad = bytes.rarely(128);
    for (size_t d = 0; d < dims; ++d) {
        kernel.push_back(bytes.between(1, 5));
        stride.push_back(bytes.between(1, 4));
        padding.push_back(bytes.between(0, kernel[d] / 2));
        in.push_back(kernel[d] + bytes.between(0, 6));
        out.push_back(pooled(in[d], kernel[d], stride[d], padding[d], call.ceil_mode));
    }
    call.divisor = bytes.rarely(64) ? bytes.between(0, 200) - 100 : 0;
    const Sizes image = joined(front, in);
    add_images(bytes, call, joined(front, out), image, floating(bytes), usual_format(image, dims == 2));
    call.arrays = {{Handle::live, kernel}, {Handle::live, stride}, {Handle::live, padding}};
}

static void adaptive(Bytes& bytes, Call& call, size_t plane) {
    const Sizes front = leading(bytes);
    Sizes in, out;
    for (size_t d = 0; d < plane; ++d) {
        in.push_back(bytes.between(1, 6));
        out.push_back(bytes.between(1, 7));
    }
    const Sizes image = joined(front, in);
    add_images(bytes, call, joined(front, out), image, floating(bytes), usual_format(image, plane == 2));
}

static void padding(Bytes& bytes, Call& call, Kind kind, size_t dims) {
    const Sizes front = leading(bytes);
    Sizes in, out, pad(2 * dims);
    for (size_t d = 0; d < dims; ++d) in.push_back(bytes.between(1, 6));
    for (size_t i = 0; i < 2 * dims; ++i) {
        const int64_t size = in[dims - 1 - i / 2];
        pad[i] = bytes.between(0, kind == Kind::reflection ? size - 1 : kind == Kind::circular ? size : 5);
    }
    if (bytes.rarely(40) && in[dims - 1] > 1) pad[0] = -1;
    for (size_t d = 0; d < dims; ++d) out.push_back(in[d] + pad[2 * (dims - 1 - d)] + pad[2 * (dims - 1 - d) + 1]);
    const Sizes image = joined(front, in);
    const aclDataType dtype = kind == Kind::circular
                                  ? floating(bytes)
                                  : one_of(bytes, {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_DOUBLE, ACL_COMPLEX64, ACL_COMPLEX128});
    add_images(bytes, call, joined(front, out), image, dtype, usual_format(image, false));
    call.arrays = {{Handle::live, pad}};
}

static void unpool(Bytes& bytes, Call& call, size_t dims) {
    const Sizes front = leading(bytes);
    Sizes in, out;
    for (size_t d = 0; d < dims; ++d) {
        in.push_back(bytes.between(1, 3));
        out.push_back(bytes.between(1, 4));
    }
    const Sizes image = joined(front, in);
    const aclDataType eighth = dims == 3 ? ACL_DOUBLE : ACL_BOOL;
    const aclDataType dtype = one_of(bytes, {ACL_FLOAT, ACL_FLOAT16, eighth, ACL_INT8, ACL_UINT8, ACL_INT16, ACL_INT32, ACL_INT64});
    const aclDataType index_type = dims == 3 ? ACL_INT64 : one_of(bytes, {ACL_INT64, ACL_INT32});
    const aclFormat format = usual_format(image, false);
    call.tensors.push_back(tensor(bytes, joined(front, out), dtype, format, Role::read));
    call.tensors.push_back(tensor(bytes, image, dtype, format, Role::shape_only));
    call.tensors.push_back(tensor(bytes, image, index_type, format, Role::read));
    TensorSpec result = tensor(bytes, image, dtype, format, Role::written);
    if (dims == 3) result.strides = contiguous_strides(result.sizes);
    call.tensors.push_back(result);
    call.arrays = {{Handle::live, out}};
    if (dims == 3) call.arrays.insert(call.arrays.end(), {{Handle::live, {1, 2, 2}}, {Handle::live, {0, 0, bytes.between(0, 2)}}});
}

static void batch_norm(Bytes& bytes, Call& call) {
    Sizes image = {bytes.between(bytes.rarely(24) ? 0 : 1, 3), bytes.between(1, 5)};
    for (size_t more = bytes.below(7); more > 0; --more) image.push_back(bytes.between(1, 3));
    const aclFormat format = usual_format(image, false);
    for (int i = 0; i < 2; ++i) call.tensors.push_back(tensor(bytes, image, floating(bytes), format, Role::read));
    for (int i = 2; i < 7; ++i) call.tensors.push_back(tensor(bytes, {image[1]}, floating(bytes), ACL_FORMAT_ND, Role::read));
    Sizes counter;
    for (size_t rank = bytes.below(4); rank > 0; --rank) counter.push_back(bytes.between(1, 4));
    const aclDataType dtype = one_of(bytes, {ACL_FLOAT, ACL_FLOAT16, ACL_INT32});
    call.tensors.push_back(tensor(bytes, counter, dtype, ACL_FORMAT_ND, Role::read));
    call.tensors.push_back(tensor(bytes, image, floating(bytes), format, Role::written));
    if (bytes.rarely(40)) call.tensors[4].handle = Handle::null;
}

std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& sizes) {
    std::vector<int64_t> strides(sizes.size());
    uint64_t stride = 1;
    for (size_t d = sizes.size(); d-- > 0; stride *= static_cast<uint64_t>(std::max<int64_t>(sizes[d], 1)))
        strides[d] = static_cast<int64_t>(stride);
    return strides;
}

Call usual_call(Bytes& bytes) {
    Call call;
    constexpr size_t kKinds = static_cast<size_t>(Kind::last) + 1, kDims = 4;
    const size_t which = bytes.byte();
    call.entry_point = entry_point_of(static_cast<Kind>(which % kKinds), which / kKinds % kDims);
    const EntryPoint& e = entry_points()[call.entry_point];
    switch (e.kind) {
        case Kind::average: average(bytes, call, e.dims); break;
        case Kind::adaptive: adaptive(bytes, call, e.dims); break;
        case Kind::replication:
        case Kind::reflection:
        case Kind::circular: padding(bytes, call, e.kind, e.dims); break;
        case Kind::unpool: unpool(bytes, call, e.dims); break;
        case Kind::batch_norm: batch_norm(bytes, call); break;
    }
    for (size_t i = 0; i < call.tensors.size(); ++i) call.tensors[i].block_of = call.tensors[i].handle_of = i;
    return call;
}

}  // namespace fuzz
