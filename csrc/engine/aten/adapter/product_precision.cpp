#include "engine/aten/adapter/product_precision.h"

#include <ATen/ATen.h>

#include "engine/aten/adapter/results.h"
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

// Infinities and NaNs stay as they are: without the lowest bits some not-a-numbers would be infinities.
at::Tensor rounded_to_hf32(const at::Tensor& tensor) {
    constexpr int kDropped = 23 - 11;
    const at::Tensor bits = tensor.view(at::kInt);
    const at::Tensor last_kept = bits.bitwise_right_shift(kDropped).bitwise_and(1);
    const at::Tensor rounded = (bits + ((1 << (kDropped - 1)) - 1) + last_kept).bitwise_and(-(1 << kDropped));
    return at::where(tensor.isfinite(), rounded.view(at::kFloat), tensor);
}

}  // namespace

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
