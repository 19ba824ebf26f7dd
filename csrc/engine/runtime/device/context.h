// Contexts, and which one each thread uses.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "acl/acl.h"

namespace torch_aclnn::host {

constexpr int kSystemOptions = 3;  // deterministic, debug kernel, strong consistency

struct Context {
    int device;
    bool primary;
    std::atomic<int64_t> options[kSystemOptions] = {-1, -1, -1};  // -1: nobody has set it
};

// Makes a context of the device; primary ones belong to the engine and cannot be destroyed.
aclrtContext make_context(int device, bool primary);

// Sets the calling thread's context and the device that follows from it; null and -1 for none.
void set_current(aclrtContext context, int device) noexcept;
// Returns the calling thread's context; 107002 if it has no live one.
std::shared_ptr<Context> current_context();

}  // namespace torch_aclnn::host
