// Who is told of the tasks that have ended: the trace, and a profiler.
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/runtime/visibility.h"

namespace torch_aclnn::host {

struct EndedTask {
    const char* name;  // never freed
    int device, stream;
    int64_t begin, end;  // nanoseconds of Unix time
};

// Has `watcher` called, on the thread that ran it, for each task that has run from now on; null: for none.
TORCH_ACLNN_HOST_API void watch_tasks(void (*watcher)(const EndedTask&)) noexcept;

// What a stream asks before it takes the time of a task: true with a trace, and with a watcher.
extern std::atomic<bool> tasks_are_watched;
inline bool watching_tasks() noexcept {
    return tasks_are_watched.load(std::memory_order_relaxed);
}

}  // namespace torch_aclnn::host
