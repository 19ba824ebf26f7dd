#include "engine/runtime/stream/deferred_task.h"

#include "engine/runtime/calling_thread.h"
#include "engine/runtime/device/device.h"
#include "engine/runtime/diagnostics/task_watch.h"
#include "engine/runtime/diagnostics/trace.h"
#include "engine/runtime/fault/injection.h"
#include "engine/runtime/memory/device_memory.h"
#include "engine/runtime/stream/recorder.h"
#include "engine/runtime/stream/stream_order.h"

namespace torch_aclnn::host {

std::unique_ptr<DeferredTask> DeferredTask::put_on(aclrtStream handle, const char* name, const std::vector<MemoryAccess>& accesses) {
    return put_on(*find_usable_stream(handle), name, accesses);
}

std::unique_ptr<DeferredTask> DeferredTask::put_on(Stream& stream, const char* name, const std::vector<MemoryAccess>& accesses) {
    order_launch(stream.id(), name, accesses, CallStack::for_streams());
    return stream.defer(name, thread_number());
}

bool DeferredTask::is_captured(aclrtStream handle, const std::function<std::unique_ptr<Task>()>& make) {
    const auto stream = find_usable_stream(handle);
    const auto recorder = stream->recorder_of_work();
    if (recorder == nullptr) return false;
    auto task = make();
    recorder->take(*stream, *task);
    (void)task.release();  // the graph finishes it
    return true;
}

DeferredTask::DeferredTask(std::shared_ptr<Stream> stream, const char* name, uint64_t origin, PendingWork before,
                           std::shared_ptr<Failure> failure, std::shared_ptr<Completion> completion)
    : stream_(std::move(stream)),
      name_(name),
      origin_(origin),
      launch_(next_launch()),
      before_(std::move(before)),
      failure_before_(std::move(failure)),
      completion_(std::move(completion)) {}

DeferredTask::~DeferredTask() {
    if (completion_ != nullptr) (void)fail(ACL_ERROR_RT_AICORE_EXCEPTION, "it was given up before it had run");
}

bool DeferredTask::start() {
    (void)before_.wait_until(Completion::Clock::time_point::max());
    if (failure_before_ == nullptr) failure_before_ = before_.failure();
    if (failure_before_ == nullptr || !failure_before_->spoils(launch_)) {
        if (watching_tasks()) began_ = trace_clock();
        return may_run();
    }
    failure_before_->add_affected(origin_);
    end(failure_before_);
    return false;
}

bool DeferredTask::may_run() {
    try {
        task_may_fail(name_, stream_->id(), stream_->device());
        return true;
    } catch (const Error& error) {
        (void)fail(error.code(), error.what());
        return false;
    }
}

void DeferredTask::succeed() noexcept {
    end(nullptr);
}

std::shared_ptr<Failure> DeferredTask::fail(int code, const char* message) noexcept {
    auto failure = make_failure(code, message, name_, origin_);
    if (failure_before_ != nullptr) failure->inherit(*failure_before_);
    end(failure);
    return failure;
}

void DeferredTask::end(std::shared_ptr<Failure> failure) noexcept {
    if (watching_tasks()) stream_->trace_end(name_, began_, failure.get());
    const auto completion = std::move(completion_);
    completion->finish(std::move(failure));
}

}  // namespace torch_aclnn::host
