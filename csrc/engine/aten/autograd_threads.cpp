// The end of a process in which autograd used npu; torch_aclnn/host/autograd_threads.py says what for.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <exception>
#include <system_error>
#include <thread>

namespace {

void run_empty_backward(int device) {
    const auto options = at::TensorOptions(at::Device(at::kPrivateUse1, static_cast<c10::DeviceIndex>(device)));
    const at::Tensor x = at::empty({1}, options).requires_grad_();
    try {
        torch::autograd::grad({x.view({1})}, {x}, {at::empty({1}, options)});
    } catch (const std::exception&) {  // a device that has failed has nothing left to run
    }
}

}  // namespace

// Returns when autograd's thread for the device has dropped what it used. Nothing is launched. The caller must not hold the GIL.
extern "C" __attribute__((visibility("default"))) void torchAclnnHostSettleAutograd(int device) noexcept {
    try {
        // On a thread to whose state Python has added nothing that autograd's thread would have to drop.
        std::thread(run_empty_backward, device).join();
    } catch (const std::system_error&) {  // no thread can be started: the process ends as it would without this
    }
}
