// Tasks for the stream tests, built as a library of its own.

#include <atomic>
#include <new>
#include <stdexcept>

#include "aclnn/acl_meta.h"
#include "engine/opapi/handles.h"
#include "engine/runtime/stream/task.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using torch_aclnn::host::Error;
using torch_aclnn::host::guarded;
using torch_aclnn::host::refuse;
using torch_aclnn::host::Task;

// Tasks of several streams may run at the same time.
std::atomic<int> finished{0}, counted{0};

class TestTask : public Task {
   public:
    void finish() noexcept override {
        ++finished;
        delete this;
    }
};

class FailingTask : public TestTask {
    const char* name() const override { return "failingTask"; }
    void run() override { throw Error(ACL_ERROR_INTERNAL_ERROR, "its input was refused"); }
};

class ThrowingTask : public TestTask {
    const char* name() const override { return "throwingTask"; }
    void run() override { throw std::out_of_range("index 7 of 3"); }
};

class RefusingTask : public TestTask {
    const char* name() const override { return "refusingTask"; }
    void run() override { refuse("index", "a value in 0..2", "7"); }
};

class CountingTask : public TestTask {
    const char* name() const override { return "countingTask"; }
    void run() override { ++counted; }
};

// A task that is refused has not been taken and stays the caller's.
int enqueue(aclrtStream stream, TestTask* task) {
    const aclError code = guarded(task->name(), [&] { torch_aclnn::host::enqueue(stream, *task); });
    if (code != ACL_SUCCESS) delete task;
    return code;
}

}  // namespace

EXPORT int enqueue_failing_task(aclrtStream stream) {
    return enqueue(stream, new FailingTask);
}
EXPORT int enqueue_throwing_task(aclrtStream stream) {
    return enqueue(stream, new ThrowingTask);
}
EXPORT int enqueue_refusing_task(aclrtStream stream) {
    return enqueue(stream, new RefusingTask);
}
EXPORT int enqueue_counting_task(aclrtStream stream) {
    return enqueue(stream, new CountingTask);
}
EXPORT int finished_tasks() {
    return finished;
}
EXPORT int counted_tasks() {
    return counted;
}
EXPORT int refuse_operator() {
    return guarded("aclnnX", [] { refuse("self", "a value", "none"); });
}
EXPORT int throw_what_is_no_exception() {
    return guarded("aclnnX", [] { throw 7; });
}
EXPORT int run_out_of_memory() {
    return guarded("aclnnX", [] { throw std::bad_alloc(); });
}
EXPORT int run_out_of_memory_in_phase1() {
    return guarded("aclnnX", [] { throw std::bad_alloc(); }, torch_aclnn::host::kPhase1Codes);
}
EXPORT int run_out_of_memory_in_phase2() {
    return guarded("aclnnX", [] { throw std::bad_alloc(); }, torch_aclnn::host::kAclnnCodes);
}
EXPORT int return_a_code_that_is_in_no_table() {
    return guarded("aclnnX", [] { throw Error(123456, "it went wrong"); });
}
