#include "extension/ops/common.h"

#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>

#include <algorithm>
#include <array>

#include "extension/aclnn/launch.h"
#include "kernels/support/overlap.h"

namespace torch_aclnn {

void check_same_device(const char* op, std::initializer_list<NamedTensor> tensors) {
    const NamedTensor& first = *tensors.begin();
    for (const NamedTensor& named : tensors)
        TORCH_CHECK(!named.tensor.defined() || named.tensor.device() == first.tensor.device(), op, ": ", named.name, ": expected device ",
                    first.tensor.device(), " like ", first.name, ", got ", named.tensor.device());
}

void check_rank(const char* op, const char* name, int64_t rank, int64_t lowest, int64_t highest) {
    TORCH_CHECK(rank >= lowest && rank <= highest, op, ": ", name, ": expected ", lowest, " to ", highest, " dimensions, got ", rank);
}

void check_size(const char* op, const char* name, c10::SymIntArrayRef got, c10::SymIntArrayRef expected, const char* origin) {
    const auto sizes = c10::asIntArrayRefSlowOpt(got), wanted = c10::asIntArrayRefSlowOpt(expected);
    if (sizes && wanted && *sizes == *wanted) return;  // the usual case, and much shorter than symbolic comparisons
    TORCH_CHECK(got.size() == expected.size(), op, ": ", name, ": expected shape ", expected, origin, ", got ", got);
    for (size_t d = 0; d < got.size(); ++d)
        TORCH_SYM_CHECK(got[d].sym_eq(expected[d]), op, ": ", name, ": expected shape ", expected, origin, ", got ", got);
}

void check_per_channel(const char* op, const at::Tensor& input, const NamedTensor& values) {
    if (!values.tensor.defined()) return;
    check_same_device(op, {{"input", input}, values});
    check_size(op, values.name, values.tensor.sym_sizes(), {input.sym_size(1)});
}

void check_length(const char* op, const char* name, size_t length, std::initializer_list<size_t> allowed) {
    TORCH_CHECK(std::find(allowed.begin(), allowed.end(), length) != allowed.end(), op, ": ", name, ": expected ",
                at::ArrayRef<size_t>(allowed), " values, got ", length);
}

void check_values(const char* op, const char* name, at::IntArrayRef values, int64_t lowest) {
    for (int64_t value : values)
        TORCH_CHECK(value >= lowest && value <= INT32_MAX, op, ": ", name, ": expected values from ", lowest, " to ", INT32_MAX, ", got ",
                    values);
}

void check_values(const char* op, const char* name, c10::SymIntArrayRef values, int64_t lowest) {
    if (const auto fixed = c10::asIntArrayRefSlowOpt(values)) return check_values(op, name, *fixed, lowest);
    for (const c10::SymInt& value : values)
        TORCH_SYM_CHECK(value.sym_ge(lowest).sym_and(value.sym_le(INT32_MAX)), op, ": ", name, ": expected values from ", lowest, " to ",
                        INT32_MAX, ", got ", values);
}

// A larger size could overflow int64_t together with paddings.
constexpr int64_t kMaxSize = int64_t{1} << 61;

void check_countable(const char* op, const char* name, c10::SymIntArrayRef sizes) {
    const auto fixed = c10::asIntArrayRefSlowOpt(sizes);
    if (!fixed) return;
    int64_t count = 1;
    bool empty = false, overflows = false;
    for (int64_t size : *fixed) {
        TORCH_CHECK(size >= 0 && size < kMaxSize, op, ": ", name, ": expected sizes from 0 to 2^61, got ", *fixed);
        empty |= size == 0;
        overflows |= size > 0 && __builtin_mul_overflow(count, size, &count);
    }
    TORCH_CHECK(empty || !overflows, op, ": ", name, ": expected fewer than 2^63 elements, got ", *fixed);
}

void check_dtype(const char* op, const NamedTensor& named, std::initializer_list<at::ScalarType> allowed) {
    TORCH_CHECK(std::find(allowed.begin(), allowed.end(), named.tensor.scalar_type()) != allowed.end(), op, ": ", named.name,
                ": expected a dtype of ", at::ArrayRef<at::ScalarType>(allowed), ", got ", named.tensor.scalar_type());
}

void check_dtype(const char* op, const NamedTensor& named, const NamedTensor& reference) {
    TORCH_CHECK(named.tensor.scalar_type() == reference.tensor.scalar_type(), op, ": ", named.name, ": expected dtype ",
                reference.tensor.scalar_type(), " like ", reference.name, ", got ", named.tensor.scalar_type());
}

static kernels::Extent extent(const at::Tensor& tensor) {
    return {tensor.const_data_ptr(), tensor.element_size(), static_cast<int>(tensor.dim()), tensor.sizes().data(), tensor.strides().data()};
}

at::Tensor empty_contiguous(const at::Tensor& like, c10::SymIntArrayRef sizes) {
    const auto fixed = like.is_privateuseone() ? c10::asIntArrayRefSlowOpt(sizes) : std::nullopt;
    return fixed ? empty_on_npu(like, *fixed) : at::empty_symint(sizes, like.options());
}

at::Tensor empty_result(const at::Tensor& like, c10::SymIntArrayRef sizes) {
    const bool channels_last =
        !like.is_privateuseone() && like.dim() == 4 && sizes.size() == 4 && like.suggest_memory_format() == at::MemoryFormat::ChannelsLast;
    if (!channels_last) return empty_contiguous(like, sizes);
    const c10::SymInt &channels = sizes[1], &width = sizes[3];
    const c10::SymInt row = channels * width;
    return at::empty_strided_symint(sizes, std::array<c10::SymInt, 4>{row * sizes[2], 1, row, channels}, like.options());
}

void prepare_out(const char* op, const at::Tensor& out, const at::Tensor& like, c10::SymIntArrayRef sizes,
                 std::initializer_list<NamedTensor> inputs) {
    check_dtype(op, {"out", out}, {"its input", like});
    check_same_device(op, {{"out", out}, {"its input", like}});
    at::native::resize_output_symint(out, sizes);
    if (out.is_meta() || out.numel() == 0) return;
    if (out.is_privateuseone()) check_base_format("out", out);
    TORCH_CHECK(!kernels::overlaps_itself(extent(out)), op, ": out: expected elements that do not share memory, got shape ", out.sizes(),
                " with strides ", out.strides());
    for (const NamedTensor& input : inputs)
        TORCH_CHECK(!input.tensor.defined() || input.tensor.numel() == 0 || !kernels::overlap(extent(out), extent(input.tensor)), op,
                    ": out: expected memory of its own, got memory that is also that of ", input.name);
}

kernels::DType kernel_dtype(const char* op, at::ScalarType type) {
    switch (type) {
        case at::kFloat: return kernels::DType::float32;
        case at::kHalf: return kernels::DType::float16;
        case at::kBFloat16: return kernels::DType::bfloat16;
        case at::kDouble: return kernels::DType::float64;
        case at::kChar: return kernels::DType::int8;
        case at::kByte: return kernels::DType::uint8;
        case at::kShort: return kernels::DType::int16;
        case at::kInt: return kernels::DType::int32;
        case at::kLong: return kernels::DType::int64;
        case at::kComplexFloat: return kernels::DType::complex64;
        case at::kComplexDouble: return kernels::DType::complex128;
        default: TORCH_CHECK(false, op, ": no kernel takes ", type);
    }
}

}  // namespace torch_aclnn
