// One call of an entry point: phase 1 on the calling thread, so that a refusal is an exception at the call; phase 2 on torch_npu's queue.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <tuple>

#include "extension/aclnn/call_state.h"
#include "extension/aclnn/errors.h"
#include "extension/aclnn/handles.h"

namespace torch_aclnn {

// A call between its phases. It owns the executor, the workspace and, in the derived class, the handles.
class QueuedCall {
   public:
    QueuedCall(const std::string& entry_point, Phase2 phase2) : entry_point_(entry_point), phase2_(phase2) {}
    virtual ~QueuedCall();
    QueuedCall(const QueuedCall&) = delete;
    QueuedCall& operator=(const QueuedCall&) = delete;

    const std::string& entry_point() const { return entry_point_; }
    // Where phase 1 puts its results.
    uint64_t* workspace_size() { return &workspace_size_; }
    aclOpExecutor** executor() { return &executor_; }

    // A call whose result this one needs, with a phase 2 of its own on the same stream and in the same task of the queue.
    void run_after(std::unique_ptr<QueuedCall> other);
    // Allocates the workspace on the stream, which is the one of phase 2.
    void prepare(Stream stream);
    // Calls phase 2 and returns its status.
    Status run();

   private:
    const std::string& entry_point_;  // of the EntryPoint, which is static
    Phase2 phase2_;
    uint64_t workspace_size_ = 0;
    aclOpExecutor* executor_ = nullptr;
    at::Tensor workspace_;
    Stream stream_ = nullptr;
    std::unique_ptr<QueuedCall> before_;
};

// Queues phase 2 on the current stream of the current device. The call is released when phase 2 has been called, on whichever thread that
// is. A queue that has stopped, because the device failed, drops what it holds, as it does with torch_npu's own operators.
void launch(std::unique_ptr<QueuedCall> call);

// An uninitialised, contiguous tensor on the NPU, of the dtype and device of `like`. torch_npu's own way, which is shorter than
// at::empty's.
at::Tensor empty_on_npu(const at::Tensor& like, at::IntArrayRef sizes);

// What phase 1 is passed for an argument: a handle's pointer, and anything else as it is.
template <class Argument>
const Argument& raw(const Argument& argument) {
    return argument;
}
inline aclTensor* raw(const TensorHandle& handle) {
    return handle.get();
}
inline aclIntArray* raw(const IntArrayHandle& handle) {
    return handle.get();
}
inline aclScalar* raw(const ScalarHandle& handle) {
    return handle.get();
}

template <class... Arguments>
class QueuedCallWith final : public QueuedCall {
   public:
    template <class Phase1>
    QueuedCallWith(const EntryPoint<Phase1>& entry_point, Arguments... arguments)
        : QueuedCall(entry_point.name, entry_point.phase2), arguments_(std::move(arguments)...) {
        const auto phase1 = [&](const Arguments&... kept) { return entry_point.phase1(raw(kept)..., workspace_size(), executor()); };
        check_status(entry_point.name, std::apply(phase1, arguments_));
    }

   private:
    std::tuple<Arguments...> arguments_;
};

// Calls phase 1. A CallState must live until the call has been queued.
template <class Phase1, class... Arguments>
std::unique_ptr<QueuedCall> make_call(const EntryPoint<Phase1>& entry_point, Arguments... arguments) {
    return std::make_unique<QueuedCallWith<Arguments...>>(entry_point, std::move(arguments)...);
}

template <class Phase1, class... Arguments>
void call(const EntryPoint<Phase1>& entry_point, Arguments... arguments) {
    const CallState state;
    launch(make_call(entry_point, std::move(arguments)...));
}

}  // namespace torch_aclnn
