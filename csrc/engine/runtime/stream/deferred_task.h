// A task that a thread of its owner runs, in the stream's order: what is submitted to the stream later waits for it.
#pragma once

#include <functional>

#include "engine/runtime/memory/device_memory.h"
#include "engine/runtime/stream/completion.h"
#include "engine/runtime/stream/stream.h"

namespace torch_aclnn::host {

class TORCH_ACLNN_HOST_API DeferredTask {
   public:
    // Puts the task on the stream. Throws what enqueue() throws. The name must outlive the stream's work.
    static std::unique_ptr<DeferredTask> put_on(aclrtStream stream, const char* name, const std::vector<MemoryAccess>& accesses);
    static std::unique_ptr<DeferredTask> put_on(Stream& stream, const char* name, const std::vector<MemoryAccess>& accesses);
    // Returns true if the stream is captured: the graph then has what `make` returns, whose put_on() is called with each replay.
    static bool is_captured(aclrtStream stream, const std::function<std::unique_ptr<Task>()>& make);

    DeferredTask(std::shared_ptr<Stream> stream, const char* name, uint64_t origin, PendingWork before, std::shared_ptr<Failure> failure,
                 std::shared_ptr<Completion> completion);
    DeferredTask(const DeferredTask&) = delete;
    ~DeferredTask();

    std::shared_ptr<Completion> completion() const { return completion_; }
    bool is_demanded() const { return completion_->is_demanded(); }
    // Waits for what came before it. Returns false if that failed, or a fault was injected, so that this task is over too, and is not to be
    // run.
    bool start();
    // One of these is called, once, after start() returned true.
    void succeed() noexcept;
    std::shared_ptr<Failure> fail(int code, const char* message) noexcept;

   private:
    bool may_run();
    void end(std::shared_ptr<Failure> failure) noexcept;

    const std::shared_ptr<Stream> stream_;
    const char* const name_;
    const uint64_t origin_;
    const uint64_t launch_;
    const PendingWork before_;
    std::shared_ptr<Failure> failure_before_;
    std::shared_ptr<Completion> completion_;  // null after its end
    int64_t began_ = 0;                       // the time of its start, with a trace
};

}  // namespace torch_aclnn::host
