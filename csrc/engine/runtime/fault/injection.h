// Where a fault can happen. Off, each place costs a load and a branch.
#pragma once

#include <atomic>

#include "engine/runtime/visibility.h"

namespace torch_aclnn::host {

// Whether any fault has been asked for.
extern TORCH_ACLNN_HOST_API std::atomic<bool> faults_set;

// The slow paths. They throw an Error if a fault is due.
TORCH_ACLNN_HOST_API void fail_asked_call(const char* function);
TORCH_ACLNN_HOST_API void fail_asked_phase1(const char* entry_point);
TORCH_ACLNN_HOST_API void fail_asked_task(const char* task, int stream, int device);
TORCH_ACLNN_HOST_API bool spoil_asked_result(const char* entry_point);
TORCH_ACLNN_HOST_API bool is_asked_for_phase1(const char* entry_point);

// A C function of that name is called.
inline void may_fail(const char* function) {
    if (faults_set.load(std::memory_order_relaxed)) fail_asked_call(function);
}
// The same for <entry point>GetWorkspaceSize.
inline void phase1_may_fail(const char* entry_point) {
    if (faults_set.load(std::memory_order_relaxed)) fail_asked_phase1(entry_point);
}
// Whether a fault is meant for that function, so that it has to be called.
inline bool is_phase1_to_fail(const char* entry_point) {
    return faults_set.load(std::memory_order_relaxed) && is_asked_for_phase1(entry_point);
}
// A task is about to run.
inline void task_may_fail(const char* task, int stream, int device) {
    if (faults_set.load(std::memory_order_relaxed)) fail_asked_task(task, stream, device);
}
// An operator has computed; whether what it wrote is to be wrong.
inline bool result_is_spoiled(const char* entry_point) {
    return faults_set.load(std::memory_order_relaxed) && spoil_asked_result(entry_point);
}

// Sets the faults of the text; 100000 if it cannot be understood.
void set_faults(const char* text);
// Sets those of TORCH_ACLNN_HOST_FAULT, at the first call, and says at exit which of them never happened.
void set_configured_faults();

}  // namespace torch_aclnn::host
