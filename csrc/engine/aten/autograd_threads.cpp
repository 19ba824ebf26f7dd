// The end of a process in which autograd used npu; torch_aclnn/loading/autograd_threads.py has the reason.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <chrono>
#include <exception>
#include <future>
#include <system_error>
#include <thread>
#include <utility>

// Autograd's thread may be busy for another thread, for which a process does not wait at its end.
constexpr std::chrono::seconds kLimit{2};

static void run_empty_backward(int device) {
    const auto options = at::TensorOptions(at::Device(at::kPrivateUse1, static_cast<c10::DeviceIndex>(device)));
    try {
        const at::Tensor x = at::empty({1}, options).requires_grad_();
        torch::autograd::grad({x.view({1})}, {x}, {at::empty({1}, options)});
    } catch (const std::exception&) {  // a device that has failed has nothing left to run
    }
}

// Returns when autograd's thread for the device has dropped what it used, or after the limit. Nothing is launched. The caller must not hold
// the GIL.
extern "C" __attribute__((visibility("default"))) void torchAclnnHostFinishAutograd(int device) noexcept {
    try {
        // The thread is a new one, to whose state Python has added nothing that autograd's thread would have to drop.
        std::packaged_task<void(int)> backward(run_empty_backward);
        const std::future<void> done = backward.get_future();
        std::thread thread(std::move(backward), device);
        done.wait_for(kLimit) == std::future_status::ready ? thread.join() : thread.detach();
    } catch (const std::system_error&) {  // no thread can be started; the process then ends without waiting
    }
}
