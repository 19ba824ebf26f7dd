// Contexts, and which one each thread uses.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "engine/runtime/engine.h"

namespace torch_aclnn::host {

constexpr int kSystemOptions = 3;  // deterministic, debug kernel, strong consistency

struct Context {
    int device;
    bool primary;
    std::atomic<int64_t> options[kSystemOptions] = {};
};

// Makes a context of the device; primary ones belong to the engine and cannot be destroyed.
aclrtContext make_context(int device, bool primary);

// The calling thread's choice: a context, and the device that follows from it (-1: none).
void choose(aclrtContext context, int device) noexcept;
// The device of threads that have not chosen; -1, as at first, if they are to have none.
void set_default_device(int device) noexcept;
int chosen_device() noexcept;

// Refuses with 107002 and a sentence if the calling thread has no live context.
aclError find_current_context(const char* function, std::shared_ptr<Context>& context);

}  // namespace torch_aclnn::host
