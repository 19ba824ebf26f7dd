// One call of an entry point: phase 1 on the calling thread, so that a refusal is an exception at the call; phase 2 on torch_npu's queue.
#pragma once

#include <c10/util/Exception.h>

#include <tuple>

#include "extension/aclnn/executor_cache.h"
#include "extension/aclnn/handles.h"
#include "extension/aclnn/symbols.h"

namespace torch_aclnn {

// "aclnnAvgPool2dBackward failed with 161002 (ACLNN_ERR_PARAM_INVALID: an argument is outside the contract)"
std::string describe_failure(const std::string& entry_point, Status status);

// Throws that text and the library's message unless the status is success: torch.OutOfMemoryError if the library could not allocate, else
// RuntimeError.
void check_status(const std::string& entry_point, Status status);

// Throws an error of torch_npu's as torch.OutOfMemoryError if the library's message in it says so: torch_npu gives its own operators' that
// class by the same words, and a function's that it was given a RuntimeError.
void rethrow_out_of_memory(const c10::Error& error);

// Around one call of the calling thread, sets the deterministic switch as torch has it now, and clears a key that another operator which
// threw in phase 1 may have left in the library's cache of executors.
class CallState {
   public:
    CallState();
    ~CallState();
    CallState(const CallState&) = delete;
    CallState& operator=(const CallState&) = delete;
};

// Holds the workspace that the library may keep for huge tensors, from before phase 1 until phase 2 has been queued.
class HugeMemoryScope {
   public:
    HugeMemoryScope();
    ~HugeMemoryScope();
    HugeMemoryScope(const HugeMemoryScope&) = delete;
    HugeMemoryScope& operator=(const HugeMemoryScope&) = delete;
};

// Returns the current stream, with its limits on cores set for the calling thread.
Stream current_stream();

// Sets the same limits for the thread that calls phase 2.
void use_stream_limits_on_this_thread(Stream stream);

// Gives the library's memory for huge tensors back after phase 2.
void release_huge_memory();

// An executor that phase 1 has made, until phase 2 takes it. The library may have one of its cache elsewhere, too, so that it is not ours
// to destroy.
class Executor {
   public:
    explicit Executor(bool may_be_cached) : may_be_cached_(may_be_cached) {}
    ~Executor();
    aclOpExecutor** place() { return &executor_; }
    aclOpExecutor* release() { return std::exchange(executor_, nullptr); }

   private:
    aclOpExecutor* executor_ = nullptr;
    const bool may_be_cached_;
};

// A call between its phases. The derived class has the executor, and what phase 1 made it of.
class QueuedCall {
   public:
    QueuedCall(const std::string& entry_point, Phase2 phase2) : entry_point_(entry_point), phase2_(phase2) {}
    virtual ~QueuedCall() = default;
    QueuedCall(const QueuedCall&) = delete;
    QueuedCall& operator=(const QueuedCall&) = delete;

    const std::string& entry_point() const { return entry_point_; }
    uint64_t workspace_size() const { return workspace_size_; }
    // Sets where and with which memory phase 2 runs.
    void place(Stream stream, void* workspace) {
        stream_ = stream;
        workspace_ = workspace;
    }
    Status run();

   protected:
    virtual aclOpExecutor* release_executor() = 0;
    virtual void end() {}
    uint64_t workspace_size_ = 0;

   private:
    const std::string& entry_point_;  // of an EntryPoint, which is static
    Phase2 phase2_;
    Stream stream_ = nullptr;
    void* workspace_ = nullptr;
};

// Queues phase 2 on the current stream of the current device, with a workspace if it asks for one. The call is released when phase 2 has
// been called, on whichever thread that is. A queue that has stopped, because the device failed, drops what it holds, as it does with
// torch_npu's own operators. A failure is torch_npu's exception, at once or at the next synchronisation: torch.OutOfMemoryError if the
// library could not allocate.
void launch(const std::shared_ptr<QueuedCall>& call, Stream stream);

// Returns an uninitialised, contiguous tensor on the NPU, of the dtype and device of `like`. torch_npu's own way, where it is exported, is
// shorter than at::empty's.
at::Tensor empty_on_npu(const at::Tensor& like, at::IntArrayRef sizes);

template <class... Arguments>
class QueuedCallWith final : public QueuedCall {
   public:
    template <class Phase1>
    QueuedCallWith(const EntryPoint<Phase1>& entry_point, bool may_be_cached, Arguments... arguments)
        : QueuedCall(entry_point.name, entry_point.phase2), arguments_(std::move(arguments)...), executor_(may_be_cached) {
        const auto phase1 = [&](const Arguments&... kept) { return entry_point.phase1(raw(kept)..., &workspace_size_, executor_.place()); };
        check_status(entry_point.name, std::apply(phase1, arguments_));
    }

   protected:
    aclOpExecutor* release_executor() override { return executor_.release(); }
    void end() override { release_huge_memory(); }

   private:
    std::tuple<Arguments...> arguments_;
    Executor executor_;  // destroyed before the arguments that it was made of
};

// A call whose executor the library's cache has, and keeps.
class CachedCall final : public QueuedCall {
   public:
    CachedCall(const std::string& entry_point, Phase2 phase2, aclOpExecutor* executor, uint64_t workspace_size)
        : QueuedCall(entry_point, phase2), executor_(executor) {
        workspace_size_ = workspace_size;
    }

   protected:
    aclOpExecutor* release_executor() override { return executor_; }

   private:
    aclOpExecutor* executor_;
};

// Calls an entry point with tensors, arrays, Scalars and numbers; an undefined tensor is one that is not given. If the library's cache has
// an executor of the same call, that one runs, and there is no phase 1.
template <class Phase1, class... Arguments>
void call(const EntryPoint<Phase1>& entry_point, const Arguments&... arguments) {
    // This comes before the key is made, because the executor that is kept under it has the address of the copy.
    if ((is_in_private_format(arguments) || ...)) return call(entry_point, in_base_format(arguments)...);
    const CallState state;
    const Stream stream = current_stream();
    CacheKey key(entry_point.name, stream);
    if (key) {
        (key.add(arguments), ...);
        uint64_t workspace_size = 0;
        if (aclOpExecutor* executor = key.find_executor(&workspace_size))
            return launch(std::make_shared<CachedCall>(entry_point.name, entry_point.phase2, executor, workspace_size), stream);
    }
    const HugeMemoryScope huge_memory;
    using Call = QueuedCallWith<decltype(make_handle(arguments))...>;
    launch(std::make_shared<Call>(entry_point, static_cast<bool>(key), make_handle(arguments)...), stream);
}

}  // namespace torch_aclnn
