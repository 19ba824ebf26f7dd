#include "extension/ops/common.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "extension/aclnn/launch.h"

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

void check_size(const char* op, const char* name, c10::SymIntArrayRef got, c10::SymIntArrayRef expected) {
    TORCH_CHECK(got.size() == expected.size(), op, ": ", name, ": expected shape ", expected, ", got ", got);
    for (size_t d = 0; d < got.size(); ++d)
        TORCH_SYM_CHECK(got[d].sym_eq(expected[d]), op, ": ", name, ": expected shape ", expected, ", got ", got);
}

void check_dtype(const char* op, const NamedTensor& named, std::initializer_list<at::ScalarType> allowed) {
    TORCH_CHECK(std::find(allowed.begin(), allowed.end(), named.tensor.scalar_type()) != allowed.end(), op, ": ", named.name,
                ": expected a dtype of ", at::ArrayRef<at::ScalarType>(allowed), ", got ", named.tensor.scalar_type());
}

void check_dtype(const char* op, const NamedTensor& named, const NamedTensor& reference) {
    TORCH_CHECK(named.tensor.scalar_type() == reference.tensor.scalar_type(), op, ": ", named.name, ": expected dtype ",
                reference.tensor.scalar_type(), " like ", reference.name, ", got ", named.tensor.scalar_type());
}

at::Tensor empty_contiguous(const at::Tensor& like, c10::SymIntArrayRef sizes) {
    const auto fixed = like.is_privateuseone() ? c10::asIntArrayRefSlowOpt(sizes) : std::nullopt;
    return fixed ? empty_on_npu(like, *fixed) : at::empty_symint(sizes, like.options());
}

at::Tensor empty_result(const at::Tensor& like, c10::SymIntArrayRef sizes) {
    const bool channels_last = like.dim() == 4 && sizes.size() == 4 && like.suggest_memory_format() == at::MemoryFormat::ChannelsLast;
    if (!channels_last) return empty_contiguous(like, sizes);
    // By strides, because torch_npu's empty() takes no memory format.
    const c10::SymInt &channels = sizes[1], &width = sizes[3];
    const c10::SymInt row = channels * width;
    return at::empty_strided_symint(sizes, std::array<c10::SymInt, 4>{row * sizes[2], 1, row, channels}, like.options());
}

void prepare_out(const char* op, const at::Tensor& out, const at::Tensor& like, c10::SymIntArrayRef sizes,
                 std::initializer_list<NamedTensor> inputs) {
    check_dtype(op, {"out", out}, {"its input", like});
    check_same_device(op, {{"out", out}, {"its input", like}});
    at::native::resize_output_symint(out, sizes);
    if (out.is_meta()) return;
    at::assert_no_internal_overlap(out);
    for (const NamedTensor& input : inputs)
        if (input.tensor.defined()) at::assert_no_overlap(out, input.tensor);
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

bool is_a2_or_later() {
    static const auto get_name = reinterpret_cast<const char* (*)()>(find_in_runtime("aclrtGetSocName"));
    const char* name = get_name == nullptr ? nullptr : get_name();
    if (name == nullptr) return true;
    const std::string_view soc(name);
    const bool is_910b_with_digit = soc.rfind("Ascend910B", 0) == 0 && soc.size() > 10;
    const bool is_older = soc.rfind("Ascend910", 0) == 0 || soc.rfind("Ascend310P", 0) == 0;
    return is_910b_with_digit || soc.rfind("Ascend910_", 0) == 0 || !is_older;
}

}  // namespace torch_aclnn
