// The places where faults can happen. While none is asked for, each costs a load and a branch.
#pragma once

#include <atomic>

#include "engine/runtime/visibility.h"

namespace torch_aclnn::host {

extern TORCH_ACLNN_HOST_API std::atomic<bool> faults_set;

// The slow paths, which throw an Error if a fault is due.
TORCH_ACLNN_HOST_API void fail_asked_call(const char* function);
TORCH_ACLNN_HOST_API void fail_asked_phase1(const char* entry_point);
TORCH_ACLNN_HOST_API void fail_asked_task(const char* task, int stream, int device);
TORCH_ACLNN_HOST_API bool spoil_asked_result(const char* entry_point);
TORCH_ACLNN_HOST_API bool is_asked_for_phase1(const char* entry_point);

// To be called where a C function of that name begins.
inline void may_fail(const char* function) {
    if (faults_set.load(std::memory_order_relaxed)) fail_asked_call(function);
}
// To be called where <entry point>GetWorkspaceSize begins.
inline void phase1_may_fail(const char* entry_point) {
    if (faults_set.load(std::memory_order_relaxed)) fail_asked_phase1(entry_point);
}
// Whether a fault is meant for that function, so that it has to be called.
inline bool is_phase1_to_fail(const char* entry_point) {
    return faults_set.load(std::memory_order_relaxed) && is_asked_for_phase1(entry_point);
}
// To be called before a task runs.
inline void task_may_fail(const char* task, int stream, int device) {
    if (faults_set.load(std::memory_order_relaxed)) fail_asked_task(task, stream, device);
}
// To be called when an operator has computed. Returns whether its result shall be wrong.
inline bool result_is_spoiled(const char* entry_point) {
    return faults_set.load(std::memory_order_relaxed) && spoil_asked_result(entry_point);
}

// Sets the faults of the text; 100000 if it cannot be understood.
void set_faults(const char* text);
// Sets those of TORCH_ACLNN_HOST_FAULT, at the first call, and says at exit which of them never happened.
void set_configured_faults();

}  // namespace torch_aclnn::host
