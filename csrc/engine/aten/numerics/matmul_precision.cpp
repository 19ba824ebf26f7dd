#include "engine/aten/numerics/matmul_precision.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>

#include "engine/aten/numerics/results.h"
#include "engine/runtime/config/soc.h"

namespace torch_aclnn::host::aten {
namespace {

enum class Precision { float32, hf32, float16 };

Precision precision_of(int8_t cube_math_type) {
    if (!config().hf32) return Precision::float32;
    switch (cube_math_type) {
        case 1: return traits_of(config().product).cube_takes_float32 ? Precision::hf32 : Precision::float16;
        case 2: return Precision::float16;
        case 3: return Precision::hf32;
        default: return Precision::float32;
    }
}

// Infinities and NaNs stay as they are, because some NaNs would become infinities without their lowest bits.
at::Tensor rounded_to_hf32(const at::Tensor& tensor) {
    constexpr int kDropped = 23 - 11;
    const at::Tensor bits = tensor.view(at::kInt);
    const at::Tensor last_kept = bits.bitwise_right_shift(kDropped).bitwise_and(1);
    const at::Tensor rounded = (bits + ((1 << (kDropped - 1)) - 1) + last_kept).bitwise_and(-(1 << kDropped));
    return at::where(tensor.isfinite(), rounded.view(at::kFloat), tensor);
}

bool multiplies_bfloat16() {
#ifdef __x86_64__
    static const bool supported = __builtin_cpu_supports("avx512bf16") != 0;
    return supported && at::globalContext().userEnabledMkldnn();
#else
    return false;
#endif
}

// Whether ATen hands the product to oneDNN; its own loops round more often.
bool is_large_enough(const at::Tensor& left, const at::Tensor& right) {
    constexpr int64_t kSmallest = 16 * 16 * 16;
    return left.dim() == 2 && right.dim() == 2 && right.numel() > 0 && left.numel() > kSmallest / right.size(1);
}

}  // namespace

std::pair<at::Tensor, at::Tensor> factors(const at::Tensor& left, const at::Tensor& right, int8_t cube_math_type) {
    const bool are_bfloat16 = left.scalar_type() == at::kBFloat16 && right.scalar_type() == at::kBFloat16;
    if (are_bfloat16 && is_large_enough(left, right) && multiplies_bfloat16()) return {left, right};
    return {operand(left, cube_math_type), operand(right, cube_math_type)};
}

at::Tensor operand(const at::Tensor& tensor, int8_t cube_math_type) {
    const Precision precision = tensor.scalar_type() == at::kFloat ? precision_of(cube_math_type) : Precision::float32;
    switch (precision) {
        case Precision::hf32: return rounded_to_hf32(tensor);
        case Precision::float16: return tensor.to(at::kHalf).to(at::kFloat);
        default: return upcast(tensor);
    }
}

void require_kept_type(const at::Tensor& tensor, int8_t cube_math_type) {
    if (cube_math_type == 0 && tensor.scalar_type() == at::kFloat && !traits_of(config().product).cube_takes_float32)
        torch_aclnn::host::refuse("cubeMathType", "another value than 0 for FLOAT on " + config().soc_name, "0");
}

}  // namespace torch_aclnn::host::aten
