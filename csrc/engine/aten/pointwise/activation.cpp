// Activations, forward and backward.

#include <dlfcn.h>

#include <cstdio>

#include "vocabulary/pointwise/activation_calls.h"

// torch_npu's backward operators broadcast the two.
static Expected of_gradient(const at::Tensor& gradOutput, const at::Tensor& self) {
    return broadcast({{"gradOutput", gradOutput}, {"self", self}});
}

// torch_npu sends gelu(approximate="tanh") to the entry points that have no mode, too; a C program that calls them means what it says. The
// warning is written in phase 1, once per process.
static void warn_of_lost_gelu_mode(const char* entry_point) {
    static const bool told = [entry_point] {
        void* const torch_npu = dlopen("libtorch_npu.so", RTLD_LAZY | RTLD_NOLOAD);
        if (torch_npu == nullptr) return false;
        dlclose(torch_npu);
        std::fprintf(
            stderr,
            "torch_aclnn: %s: torch_npu does not pass gelu's `approximate` to this entry point, so gelu has its erf form, whatever the "
            "mode. TORCH_NPU_USE_COMPATIBLE_IMPL=1, or torch_npu.npu.use_compatible_impl(True) before the first gelu, makes it "
            "call the V2 entry points, which take the mode.\n",
            entry_point);
        return true;
    }();
    static_cast<void>(told);
}

// Where the function falls for negative numbers, its result does not say what the argument was.
static void require_result_of_growing(const char* name, const at::Scalar& slope, bool is_result) {
    if (is_result && slope.toDouble() < 0) refuse(name, "a number from 0 on, as the forward's result is given", c10::str(slope));
}

// There is one weight for all channels, or one for each; channels are dimension 1.
static Elements slopes(const at::Tensor& weight, const at::Tensor& self) {
    return elements(weight.numel() == 1 || self.dim() < 2 ? 1 : self.size(1));
}

// ATen's kernel for plain tensors takes one shape and data type only.
static at::Tensor gelu_gradient(const at::Tensor& gradient, const at::Tensor& input, std::string_view approximate) {
    const std::vector<at::Tensor> tensors = at::broadcast_tensors({gradient, input});
    const at::ScalarType type = at::result_type(gradient, input);
    return at::gelu_backward(tensors[0].to(type), tensors[1].to(type), approximate);
}

// This is the logistic approximation of gelu.
static void compute(const call::FastGelu& a) {
    const at::Tensor x = upcast(a.self);
    write(a.out, x * at::sigmoid(x * 1.702));
}
static void compute(const call::FastGeluBackward& a) {
    const at::Tensor x = upcast(a.self), s = at::sigmoid(x * 1.702);
    write(a.gradInput, upcast(a.gradOutput) * s * (1 + 1.702 * x * (1 - s)));
}

static void compute(const call::SeluBackward& a) {
    constexpr double kAlpha = 1.6732632423543772848170429916717, kScale = 1.0507009873554804934193349852946;
    const auto numbers = [](const at::Tensor& tensor) { return tensor.is_floating_point() ? upcast(tensor) : tensor.to(at::kFloat); };
    write(a.gradInput, at::elu_backward(numbers(a.gradOutput), kAlpha, kScale, 1, true, numbers(a.result)));
}

static void compute(const call::LogSigmoidBackward& a) {
    const at::Tensor x = upcast(a.self);
    write(a.gradInput, at::log_sigmoid_backward(upcast(a.gradOutput), x, std::get<1>(at::log_sigmoid_forward(x))));
}

static void compute(const call::PreluBackward& a) {
    std::vector<int64_t> along_channels(a.self.dim(), 1);
    if (a.weight.numel() != 1) along_channels.at(1) = a.weight.numel();
    const at::Tensor slope = upcast(a.weight).reshape(along_channels);
    const auto [input, each] = at::_prelu_kernel_backward(upcast(a.gradOutput), upcast(a.self), slope);
    write(a.gradInput, input);
    write(a.gradWeight, each.sum_to_size(along_channels));
}
