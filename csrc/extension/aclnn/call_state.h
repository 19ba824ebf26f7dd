// What torch_npu's own operators set up around each call of an entry point, and ours with them.
#pragma once

#include "extension/aclnn/symbols.h"

namespace torch_aclnn {

// For the calling thread, around one call: the deterministic switch as torch has it now, and no key of another operator in the library's
// cache of executors, where one that threw in phase 1 may have left it.
class CallState {
   public:
    CallState();
    ~CallState();
    CallState(const CallState&) = delete;
    CallState& operator=(const CallState&) = delete;
};

// From before phase 1 until phase 2 has been queued: the workspace that the library may keep for huge tensors.
class HugeMemoryScope {
   public:
    HugeMemoryScope();
    ~HugeMemoryScope();
    HugeMemoryScope(const HugeMemoryScope&) = delete;
    HugeMemoryScope& operator=(const HugeMemoryScope&) = delete;
};

// The current stream, with its limits on cores set for the calling thread.
Stream current_stream();

// The same limits for the thread that calls phase 2.
void use_stream_limits_on_this_thread(Stream stream);

// Gives the library's memory for huge tensors back after phase 2.
void release_huge_memory();

}  // namespace torch_aclnn
