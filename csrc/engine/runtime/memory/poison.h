// TORCH_ACLNN_HOST_MODE=poison: memory that nobody has written has a value that shows it.
#pragma once

#include <cstring>

#include "engine/runtime/config/config.h"

namespace torch_aclnn::host {

// The bytes are a NaN in each type of floating point, and -1 in each integer.
inline void poison_if_wanted(void* memory, size_t size) {
    constexpr int kPoison = 0xFF;
    if (config().poison) std::memset(memory, kPoison, size);
}

}  // namespace torch_aclnn::host
