// What torch_npu's own operators set up around each call of an entry point, and ours with them.
#pragma once

#include "extension/aclnn/symbols.h"

namespace torch_aclnn {

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

// The current stream, with its limits on cores set for the calling thread.
Stream current_stream();

// The same limits for the thread that calls phase 2.
void use_stream_limits_on_this_thread(Stream stream);

// Gives the library's memory for huge tensors back after phase 2.
void release_huge_memory();

}  // namespace torch_aclnn
