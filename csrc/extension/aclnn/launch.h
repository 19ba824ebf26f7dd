// One call of an entry point: phase 1 on the calling thread, so that a refusal is an exception at the call; phase 2 on torch_npu's queue.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <tuple>

#include "extension/aclnn/call_state.h"
#include "extension/aclnn/errors.h"
#include "extension/aclnn/executor_cache.h"
#include "extension/aclnn/handles.h"

namespace torch_aclnn {

// An executor that phase 1 has made, until phase 2 takes it.
class Executor {
   public:
    ~Executor();
    aclOpExecutor** place() { return &executor_; }
    aclOpExecutor* release() { return std::exchange(executor_, nullptr); }

   private:
    aclOpExecutor* executor_ = nullptr;
};

// A call between its phases. The derived class has what phase 1 made of the arguments.
class QueuedCall {
   public:
    QueuedCall(const std::string& entry_point, Phase2 phase2) : entry_point_(entry_point), phase2_(phase2) {}
    virtual ~QueuedCall() = default;
    QueuedCall(const QueuedCall&) = delete;
    QueuedCall& operator=(const QueuedCall&) = delete;

    const std::string& entry_point() const { return entry_point_; }
    uint64_t workspace_size() const { return workspace_size_; }
    // Where and with which memory phase 2 runs.
    void place(Stream stream, void* workspace) {
        stream_ = stream;
        workspace_ = workspace;
    }
    // Calls phase 2 and returns its status.
    Status run();

   protected:
    virtual aclOpExecutor* release_executor() = 0;
    uint64_t workspace_size_ = 0;

   private:
    const std::string& entry_point_;  // of the EntryPoint, which is static
    Phase2 phase2_;
    Stream stream_ = nullptr;
    void* workspace_ = nullptr;
};

// Queues phase 2 on the current stream of the current device, with a workspace if it asks for one. The call is released when phase 2 has
// been called, on whichever thread that is. A queue that has stopped, because the device failed, drops what it holds, as it does with
// torch_npu's own operators.
void launch(std::unique_ptr<QueuedCall> call, Stream stream);

// An uninitialised, contiguous tensor on the NPU, of the dtype and device of `like`. torch_npu's own way, which is shorter than
// at::empty's.
at::Tensor empty_on_npu(const at::Tensor& like, at::IntArrayRef sizes);

template <class... Arguments>
class QueuedCallWith final : public QueuedCall {
   public:
    template <class Phase1>
    explicit QueuedCallWith(const EntryPoint<Phase1>& entry_point, Arguments... arguments)
        : QueuedCall(entry_point.name, entry_point.phase2), arguments_(std::move(arguments)...) {
        const auto phase1 = [&](const Arguments&... kept) { return entry_point.phase1(raw(kept)..., &workspace_size_, executor_.place()); };
        check_status(entry_point.name, std::apply(phase1, arguments_));
    }

   protected:
    aclOpExecutor* release_executor() override { return executor_.release(); }

   private:
    std::tuple<Arguments...> arguments_;
    Executor executor_;  // goes before the arguments that it was made of
};

// Calls an entry point with tensors, arrays, Scalars and numbers; an undefined tensor is one that is not given. If torch_npu's cache has an
// executor of the same call, that one runs, and there is no phase 1.
template <class Phase1, class... Arguments>
void call(const EntryPoint<Phase1>& entry_point, const Arguments&... arguments) {
    // Before the key: the executor that is kept under it has the address of the copy.
    if ((is_in_private_format(arguments) || ...)) return call(entry_point, in_base_format(arguments)...);
    const CallState state;
    const Stream stream = current_stream();
    if (begin_cache_key(entry_point.name, stream)) {
        (add_to_cache_key(arguments), ...);
        if (run_cached(entry_point.name, entry_point.phase2, stream)) return;
    }
    const HugeMemoryScope huge_memory;
    launch(std::make_unique<QueuedCallWith<decltype(make_handle(arguments))...>>(entry_point, make_handle(arguments)...), stream);
}

}  // namespace torch_aclnn
