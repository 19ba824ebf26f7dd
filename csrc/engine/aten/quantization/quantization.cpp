// Conversions between floating-point numbers and numbers of eight or four bits.

#include <cstdlib>

#include "engine/aten/quantization/packed_integers.h"
#include "vocabulary/quantization/quantization_calls.h"

static at::Tensor rounded(const at::Tensor& x, std::string_view mode) {
    if (mode == "floor") return at::floor(x);
    if (mode == "ceil") return at::ceil(x);
    return mode == "trunc" ? at::trunc(x) : at::round(x);
}

// Returns the values of one dimension, in a shape that broadcasts with x.
static at::Tensor along(const at::Tensor& values, const at::Tensor& x, int64_t axis) {
    if (values.dim() != 1 || x.dim() < 2) return to_double(values);
    std::vector<int64_t> sizes(x.dim(), 1);
    sizes[axis < 0 ? axis + x.dim() : axis] = values.size(0);
    return to_double(values).view(sizes);
}

// There is one number for all of x, one for each place along the axis, or a tensor that broadcasts to x.
static BroadcastsTo of_axis(const at::Tensor& values, const at::Tensor& x, int64_t axis) {
    return values.dim() != 1 || x.dim() < 2 ? broadcasts_to(x) : broadcasts_to(shape({x.size(axis)}));
}

static void quantise(const at::Tensor& x, const at::Tensor& scale, const OptTensor& offset, bool sqrt_mode, std::string_view mode,
                     int64_t axis, const PackableTensor& y) {
    at::Tensor numbers = to_double(x) * along(scale, x, axis);
    if (sqrt_mode) numbers = numbers * along(scale, x, axis);
    if (given(offset)) numbers = numbers + along(*offset, x, axis);
    y.store(rounded(numbers, mode));
}

// Returns the rows of x times the smooth scales, which may have one row for each group of rows.
static at::Tensor smoothed(const at::Tensor& x, const OptTensor& smooth, const OptTensor& group_ends) {
    const at::Tensor numbers = to_double(x);
    if (!given(smooth)) return numbers;
    if (!given(group_ends)) return numbers * to_double(*smooth);
    const at::Tensor rows = numbers.flatten(0, -2);
    return (rows * rows_of_groups(to_double(*smooth), *group_ends, rows.size(0))).view(x.sizes());
}

// Returns the dimensions that share a scale.
static std::vector<int64_t> dims_of_one_scale(const at::Tensor& x, std::string_view rows) {
    if (rows == "perchannel") return {-2};
    std::vector<int64_t> dims{-1};
    if (rows == "pertensor")
        for (int64_t d = 2; d <= x.dim(); d++) dims.push_back(-d);
    return dims;
}

static Elements scales_of(const at::Tensor& x, std::string_view rows) {
    if (rows == "perchannel" && x.dim() < 2) refuse("x", "at least 2 dimensions, as quantMode is perchannel", shape_text(x.sizes()));
    return elements(c10::multiply_integers(reduced(x, dims_of_one_scale(x, rows), false).sizes));
}

static void quantise_dynamically(const at::Tensor& x, std::string_view rows, bool symmetric, const PackableTensor& y, at::Tensor& scale_out,
                                 const OptTensor& offset_out) {
    const std::vector<int64_t> dims = dims_of_one_scale(x, rows);
    const int64_t largest = y.largest(), smallest = -largest - 1;
    if (x.numel() == 0) {  // an empty tensor has no largest element
        write(scale_out, x.sum(dims, true));
        write(offset_out, x.sum(dims, true));
        return;
    }
    const at::Tensor most = x.amax(dims, true), least = x.amin(dims, true);
    const at::Tensor scale = symmetric ? at::maximum(most, -least) / largest : (most - least) / (largest - smallest);
    const at::Tensor flat = scale == 0;  // where the scale is 0, all numbers are the same
    const at::Tensor offset = symmetric ? at::zeros_like(scale) : at::where(flat, at::zeros_like(scale), largest - most / scale);
    y.store(at::where(flat, x, x / scale + offset));
    write(scale_out, scale);
    write(offset_out, offset);
}

// Returns the bits of a FLOAT without the lowest 13, which hardware does not read.
static at::Tensor hardware_bits(const at::Tensor& scale, bool round) {
    at::Tensor bits = at::bitwise_and(scale.contiguous().view(at::kInt).to(at::kLong), 0xFFFFFFFF);
    if (round) bits = bits + 0xFFF + at::bitwise_and(at::bitwise_right_shift(bits, 13), 1);  // to the nearest, halfway cases to even
    return at::bitwise_and(bits, 0xFFFFE000);
}

static void transform_parameters(const at::Tensor& scale, const OptTensor& offset, bool round, at::Tensor& out) {
    at::Tensor packed = at::bitwise_or(hardware_bits(scale, round), int64_t{1} << 46);
    if (given(offset)) {
        const at::Tensor number = at::round(*offset).clamp(-256, 255).to(at::kLong);
        packed = at::bitwise_or(packed, at::bitwise_left_shift(at::bitwise_and(number, 0x1FF), 37));
    }
    out.view(at::kLong).copy_(packed.reshape(out.sizes()));
}

static Elements parameters(const at::Tensor& scale, const OptTensor& offset) {
    const Expected together = given(offset) ? broadcast({{"scale", scale}, {"offset", *offset}}) : shaped_like(scale);
    return elements(c10::multiply_integers(together.sizes));
}

// Returns numbers in the program's memory.
static at::Tensor host_numbers(const char* name, const float* values, uint64_t count) {
    if (count < 1 || count > uint64_t{1} << 40) refuse(name, "at least 1 value, and no more than 2^40", std::to_string(count));
    return view_of(const_cast<float*>(values), count * sizeof(float), {static_cast<int64_t>(count)}, {1}, at::kFloat).clone();
}

// Divides by the scales; the zero points are integers.
static void compute(const call::Quantize& a) {
    at::Tensor numbers = to_double(a.x) / along(a.scales, a.x, a.axis);
    if (given(a.zeroPoints)) numbers = numbers + along(*a.zeroPoints, a.x, a.axis);
    write_rounded(a.out, numbers);
}
static void compute(const call::AscendAntiQuant& a) {
    const at::Tensor numbers = plus(to_double(a.x.values()), a.offset), factor = to_double(a.scale);
    write(a.y, a.sqrtMode ? numbers * factor * factor : numbers * factor);
}

// A function without phases. It reads host memory and returns host memory, which the caller frees.
extern "C" TORCH_ACLNN_HOST_API aclnnStatus aclnnTransQuantParam(const float* scaleArray, uint64_t scaleSize, const float* offsetArray,
                                                                 uint64_t offsetSize, uint64_t** quantParam, uint64_t* quantParamSize) {
    using namespace torch_aclnn::host;
    return aclnn_guarded(__func__, [&] {
        require_not_null("scaleArray", scaleArray);
        require_not_null("quantParam", quantParam);
        require_not_null("quantParamSize", quantParamSize);
        if (offsetArray == nullptr && offsetSize != 0) refuse("offsetSize", "0 without offsetArray", std::to_string(offsetSize));
        const at::Tensor scale = host_numbers("scaleSize", scaleArray, scaleSize);
        OptTensor offset;
        if (offsetArray != nullptr) offset = host_numbers("offsetSize", offsetArray, offsetSize);
        at::Tensor packed = at::empty({parameters(scale, offset).count}, at::kLong);
        transform_parameters(scale, offset, false, packed);
        *quantParam = static_cast<uint64_t*>(std::malloc(packed.nbytes()));
        if (*quantParam == nullptr) throw std::bad_alloc();
        std::memcpy(*quantParam, packed.const_data_ptr<int64_t>(), packed.nbytes());
        *quantParamSize = static_cast<uint64_t>(packed.numel());
    });
}
