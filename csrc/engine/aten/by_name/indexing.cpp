// Selection, movement of elements, and codes of numbers.
#include "engine/aten/by_name/call.h"
#include "engine/aten/quantization/sign_bits.h"

// Selection by indices and masks, and sorting.

static int64_t dimension(const Call& call, const char* name, const at::Tensor& x, int64_t otherwise) {
    const int64_t dim = call.attribute<int64_t>(name, otherwise);
    require_dim(name, dim, x.dim());
    return dim;
}

OPERATOR(GatherElements) {
    const at::Tensor x = call.input(0);
    call.write(0, at::gather(x, dimension(call, "dim", x, 0), call.input(1).to(at::kLong)));
}
OPERATOR(GatherV2) {
    const at::Tensor x = call.input(0), index = call.input(1);
    const int64_t dim = call.scalar(2).toLong();
    require_dim("input 2", dim, x.dim());
    if (call.attribute<int64_t>("batch_dims", 0) != 0) refuse("attribute batch_dims", "0", c10::str(call.attribute<int64_t>("batch_dims")));
    std::vector<int64_t> sizes = x.sizes().vec();
    const auto place = sizes.erase(sizes.begin() + (dim < 0 ? dim + x.dim() : dim));
    sizes.insert(place, index.sizes().begin(), index.sizes().end());
    call.write(0, at::index_select(x, dim, index.reshape({-1}).to(at::kLong)).reshape(sizes));
}
OPERATOR(ScatterElements) {
    const at::Tensor x = call.input(0), index = call.input(1).to(at::kLong), updates = call.input(2);
    const int64_t axis = dimension(call, "axis", x, 0);
    const std::string& reduction = call.attribute<std::string>("reduction", "none");
    if (reduction == "none") return call.write(0, at::scatter(x, axis, index, updates));
    if (reduction != "add") refuse("attribute reduction", "none or add", reduction);
    call.write(0, at::scatter_add(upcast(x), axis, index, upcast(updates)));
}

// The size of these results depends on the data.
OPERATOR(NonZero) {
    const at::Tensor places = at::nonzero(call.input(0));
    call.pack(0, call.attribute<bool>("transpose", false) ? places.t() : places);
}
OPERATOR(MaskedSelect) {
    call.pack(0, at::masked_select(call.input(0), as_mask(call.input(1))));
}

OPERATOR(Sort) {
    const at::Tensor x = call.input(0);
    const auto [values, places] = at::sort(x, true, dimension(call, "axis", x, -1), call.attribute<bool>("descending", false));
    call.write(0, values);
    call.write(1, places);
}
OPERATOR(TopKV2) {
    const at::Tensor x = call.input(0);
    const int64_t k = call.scalar(1).toLong(), dim = dimension(call, "dim", x, -1);
    if (k < 0 || k > x.size(dim)) refuse("input 1", c10::str("0 to ", x.size(dim)), std::to_string(k));
    const auto [values, places] = at::topk(x, k, dim, call.attribute<bool>("largest", true), call.attribute<bool>("sorted", true));
    call.write(0, values);
    call.write(1, places);
}

// Data movement: copies into another layout or data type, parts and repetitions of tensors.

static at::IntArrayRef integer_list(const Call& call, const char* name) {
    return call.attribute<std::vector<int64_t>>(name);
}

// Returns elements of the input's memory at strides, which must lie in it.
static at::Tensor view_of(const char* name, const at::Tensor& memory, at::IntArrayRef sizes, at::IntArrayRef strides, int64_t offset) {
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

// A size of -1 means all that is left.
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

// Codes of numbers in bits and positions, and ranges that are filled.

static at::Tensor in_rows(const Call& call, const at::Tensor& values) {
    const int64_t rows = call.attribute<int64_t>("size", 1);
    if (rows < 1 || values.numel() % rows != 0) refuse("attribute size", c10::str("a divisor of ", values.numel()), std::to_string(rows));
    return values.reshape({rows, values.numel() / rows});
}

// The new dimension has the first value at the position of the class, and the second everywhere else.
OPERATOR(OneHotD) {
    const at::Tensor classes = call.input(0).to(at::kLong);
    const int64_t axis = call.attribute<int64_t>("axis", -1), depth = call.attribute<int64_t>("depth");
    require_dim("attribute axis", axis, classes.dim() + 1);
    const at::Tensor each = at::arange(depth), place = classes.unsqueeze(-1) == each;
    call.write(0, at::where(place, call.input(1).reshape({}), call.input(2).reshape({})).movedim(-1, axis));
}

OPERATOR(SortV2) {
    const at::Tensor x = call.input(0);
    const int64_t axis = call.attribute<int64_t>("axis", -1);
    require_dim("attribute axis", axis, x.dim());
    call.write(0, std::get<0>(at::sort(x, axis, call.attribute<bool>("descending", false))));
}

RESULT_OPERATOR(SignBitsPack, in_rows(call, packed_signs(call.input(0))))
OPERATOR(SignBitsUnpack) {
    const at::Tensor bytes = call.input(0);
    if (bytes.scalar_type() != at::kByte) refuse("input 0", "UINT8", c10::str(bytes.scalar_type()));
    call.write(0, in_rows(call, unpacked_signs(bytes)));
}

// Each pair of a begin and an end has a value. Along the last of several dimensions a range is filled in one row of the tensor, otherwise
// in all.
OPERATOR(MaskedFillRange) {
    const at::Tensor x = call.input(0).clone(), begin = call.input(1).to(at::kLong), end = call.input(2).to(at::kLong);
    int64_t axis = call.attribute<int64_t>("axis", -1);
    require_dim("attribute axis", axis, x.dim());
    if (axis < 0) axis += x.dim();
    if (begin.dim() != 2 || end.sizes() != begin.sizes())
        refuse("input 2", c10::str("two dimensions like input 1, ", begin.sizes()), shape_text(end.sizes()));
    const at::Tensor values = call.input(3).reshape({-1});
    for (int64_t i = 0; i < begin.size(0); i++)
        for (int64_t j = 0; j < begin.size(1); j++) {
            const bool of_row = x.dim() > 1 && axis == x.dim() - 1;
            const at::Tensor row = of_row ? x.select(0, j) : x;
            row.slice(of_row ? axis - 1 : axis, begin[i][j].item<int64_t>(), end[i][j].item<int64_t>()).copy_(values[i]);
        }
    call.write(0, x);
}
