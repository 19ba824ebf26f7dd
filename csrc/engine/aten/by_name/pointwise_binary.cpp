// Operators on the elements of several tensors, which broadcast.
#include <cmath>

#include "engine/aten/by_name/call.h"

using namespace torch_aclnn::host;
using namespace torch_aclnn::host::aten;

#define BINARY_OPERATOR(name, function) RESULT_OPERATOR(name, function(call.computing(0), call.computing(1)))

BINARY_OPERATOR(Add, at::add)
BINARY_OPERATOR(Atan2, at::atan2)
BINARY_OPERATOR(BitwiseAnd, at::bitwise_and)
BINARY_OPERATOR(BitwiseOr, at::bitwise_or)
BINARY_OPERATOR(BitwiseXor, at::bitwise_xor)
BINARY_OPERATOR(Equal, at::eq)
BINARY_OPERATOR(FloorDiv, at::floor_divide)
BINARY_OPERATOR(FloorMod, at::remainder)
BINARY_OPERATOR(Greater, at::gt)
BINARY_OPERATOR(GreaterEqual, at::ge)
BINARY_OPERATOR(LeftShift, at::bitwise_left_shift)
BINARY_OPERATOR(Less, at::lt)
BINARY_OPERATOR(LessEqual, at::le)
BINARY_OPERATOR(LogicalAnd, at::logical_and)
BINARY_OPERATOR(LogicalOr, at::logical_or)
BINARY_OPERATOR(Maximum, at::maximum)
BINARY_OPERATOR(Minimum, at::minimum)
BINARY_OPERATOR(Mod, at::fmod)
BINARY_OPERATOR(Mul, at::mul)
BINARY_OPERATOR(NotEqual, at::ne)
BINARY_OPERATOR(Pow, at::pow)
BINARY_OPERATOR(RealDiv, at::div)
BINARY_OPERATOR(RightShift, at::bitwise_right_shift)
BINARY_OPERATOR(Sub, at::sub)
BINARY_OPERATOR(Xlogy, at::xlogy)

OPERATOR(LogAddExp) {
    const float base = call.attribute<float>("base", -1);
    if (base != -1 && base != 2) refuse("attribute base", "2, or -1 for e", c10::str(base));
    const at::Tensor x = call.computing(0), y = call.computing(1);
    call.write(0, base == 2 ? at::logaddexp2(x, y) : at::logaddexp(x, y));
}

RESULT_OPERATOR(AxpyV2, call.computing(0) + call.computing(2) * call.computing(1))
RESULT_OPERATOR(Addcmul, call.computing(0) + call.computing(3) * call.computing(1) * call.computing(2))
RESULT_OPERATOR(Addcdiv, call.computing(0) + call.computing(3) * call.computing(1) / call.computing(2))
OPERATOR(Lerp) {
    const at::Tensor x = call.computing(0), end = call.computing(1);
    call.write(0, at::lerp(x, end, call.computing(2).expand(at::infer_size(x.sizes(), end.sizes()))));
}

static void clip(Call& call) {
    call.write(0, at::clamp(call.computing(0), std::optional(call.computing(1)), std::optional(call.computing(2))));
}
RUN_OPERATOR(ClipByValue, clip(call))
RUN_OPERATOR(ClipByValueV2, clip(call))

RESULT_OPERATOR(MaskedFill, at::where(as_mask(call.input(1)), call.input(2).to(call.input(0).scalar_type()), call.input(0)))
RESULT_OPERATOR(Select, at::where(as_mask(call.input(0)), call.input(1), call.input(2)))
