// Who is told of tasks that have ended: the trace, and a profiler.
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/runtime/visibility.h"

namespace torch_aclnn::host {

struct EndedTask {
    const char* name;  // a string that is never freed
    int device, stream;
    int64_t begin, end;  // nanoseconds of Unix time
};

// Has `watcher` called, on the thread that ran it, for each task that runs from now on; null stands for no watcher.
TORCH_ACLNN_HOST_API void watch_tasks(void (*watcher)(const EndedTask&)) noexcept;

// A stream takes the time of a task only if this is true: with a trace, and with a watcher.
extern std::atomic<bool> tasks_are_watched;
inline bool watching_tasks() noexcept {
    return tasks_are_watched.load(std::memory_order_relaxed);
}

}  // namespace torch_aclnn::host
