// What a dry run (TORCH_ACLNN_HOST_COMPUTE=0) does with work. If all that it reads is known and what it writes is small, it is computed,
// and what it writes is known. Otherwise it is skipped, and what it writes is unknown. Masks, lengths and counts, which decide what a
// program does, are of the first kind; weights and what comes of them of the second. Of random numbers few are drawn: they cost most, and
// nobody reads large ones, as masks of dropout. A known operand that decides the result of a logical operator alone makes it known.
#pragma once

#include <functional>

#include "engine/runtime/memory/device_memory.h"
#include "engine/runtime/stream/task.h"

namespace torch_aclnn::host {

// Runs the task, or skips it in a dry run.
void perform(Task& task);
// Runs or skips work that is no task.
TORCH_ACLNN_HOST_API void perform(const std::vector<MemoryAccess>& accesses, const std::function<void()>& run,
                                  const std::function<void()>& skip);

// The host is about to read unknown values, which are 0. 507015 if the same line of Python has read too often, as a loop does that waits
// for a value; 207001 if the machine has not the memory for them.
void note_value_read(size_t bytes);

}  // namespace torch_aclnn::host
