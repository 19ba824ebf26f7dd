// Data movement: copies into another layout or data type, parts and repetitions of tensors.
#include "engine/aten/by_name/call.h"

using namespace torch_aclnn::host;
using namespace torch_aclnn::host::aten;

namespace {

at::IntArrayRef integer_list(const Call& call, const char* name) {
    return call.attribute<std::vector<int64_t>>(name);
}

// Elements of the input's memory at strides, which must lie in it.
at::Tensor view_of(const char* name, const at::Tensor& memory, at::IntArrayRef sizes, at::IntArrayRef strides, int64_t offset) {
    require_count(name, strides, static_cast<int64_t>(sizes.size()));
    int64_t last = offset;
    bool empty = false, fits = offset >= 0;
    for (size_t d = 0; d < sizes.size(); d++) {
        int64_t reach = 0;
        empty = empty || sizes[d] == 0;
        fits = fits && sizes[d] >= 0 && strides[d] >= 0 && !__builtin_mul_overflow(sizes[d] - 1, strides[d], &reach) &&
               !__builtin_add_overflow(last, reach, &last);
    }
    if (!fits || (!empty && last >= memory.numel()))
        refuse(name, c10::str("a view within ", memory.numel(), " elements"),
               c10::str("sizes ", sizes, ", strides ", strides, " and offset ", offset));
    return memory.reshape({-1}).as_strided(sizes, strides, offset);
}

}  // namespace

RESULT_OPERATOR(Identity, call.input(0))
RESULT_OPERATOR(Cast, call.input(0))
RESULT_OPERATOR(Transpose, call.input(0).permute(call.integers(1)))
OPERATOR(ConfusionTransposeD) {
    const at::Tensor x = call.input(0);
    const at::IntArrayRef order = integer_list(call, "perm"), shape = integer_list(call, "shape");
    call.write(0, call.attribute<bool>("transpose_first") ? x.permute(order).reshape(shape) : x.reshape(shape).permute(order));
}
RESULT_OPERATOR(BroadcastTo, call.input(0).expand(call.integers(1)))
RESULT_OPERATOR(Tile, call.input(0).repeat(call.integers(1)))
RESULT_OPERATOR(Fill, call.input(1).reshape({}).expand(call.integers(0)))
RESULT_OPERATOR(ReverseV2, at::flip(call.input(0), call.integers(1)))
RESULT_OPERATOR(Roll, at::roll(call.input(0), integer_list(call, "shifts"), integer_list(call, "dims")))
RESULT_OPERATOR(Tril, at::tril(call.input(0), call.attribute<int64_t>("diagonal", 0)))
RESULT_OPERATOR(Triu, at::triu(call.input(0), call.attribute<int64_t>("diagonal", 0)))

RESULT_OPERATOR(ConcatD, at::cat(call.inputs_from(0), call.attribute<int64_t>("concat_dim")))
RESULT_OPERATOR(Pack, at::stack(call.inputs_from(0), call.attribute<int64_t>("axis", 0)))

// A size of -1 is what is left.
OPERATOR(Slice) {
    at::Tensor x = call.input(0);
    const std::vector<int64_t> offsets = call.integers(1), sizes = call.integers(2);
    require_count("input 1", offsets, x.dim());
    require_count("input 2", sizes, x.dim());
    for (int64_t d = 0; d < x.dim(); d++) x = x.narrow(d, offsets[d], sizes[d] == -1 ? x.size(d) - offsets[d] : sizes[d]);
    call.write(0, x);
}
// A bit of the masks leaves a dimension's begin or end open.
OPERATOR(StridedSlice) {
    at::Tensor x = call.input(0);
    const std::vector<int64_t> begins = call.integers(1), ends = call.integers(2), steps = call.integers(3);
    for (const char* const mask : {"ellipsis_mask", "new_axis_mask", "shrink_axis_mask"})
        if (call.attribute<int64_t>(mask, 0) != 0) refuse(c10::str("attribute ", mask), "0", c10::str(call.attribute<int64_t>(mask)));
    require_count("input 1", begins, x.dim());
    require_count("input 2", ends, x.dim());
    require_count("input 3", steps, x.dim());
    const auto is_open = [&](const char* mask, int64_t d) { return (call.attribute<int64_t>(mask, 0) >> d & 1) != 0; };
    for (int64_t d = 0; d < x.dim(); d++) {
        if (steps[d] < 1) refuse("input 3", "steps of at least 1", c10::str(at::IntArrayRef(steps)));
        x = x.slice(d, is_open("begin_mask", d) ? 0 : begins[d], is_open("end_mask", d) ? x.size(d) : ends[d], steps[d]);
    }
    call.write(0, x);
}

RESULT_OPERATOR(AsStrided, view_of("the view", call.input(0), call.integers(1), call.integers(2), call.scalar(3).toLong()))
// Copies a view of the second memory into a view of the first, of which all else stays.
OPERATOR(ViewCopy) {
    const at::Tensor result = call.input(0).clone();
    const at::Tensor to = view_of("the output's view", result, call.integers(1), call.integers(2), call.scalar(3).toLong());
    const at::Tensor from = view_of("the input's view", call.input(4), call.integers(5), call.integers(6), call.scalar(7).toLong());
    to.copy_(from);
    call.write(0, result);
}
