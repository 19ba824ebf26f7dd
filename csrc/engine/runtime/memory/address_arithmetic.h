// Addresses and sizes as numbers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace torch_aclnn::host {

inline uintptr_t number(const void* address) {
    return reinterpret_cast<uintptr_t>(address);
}

inline size_t round_up(size_t size, size_t unit) {
    return (size + unit - 1) / unit * unit;
}

}  // namespace torch_aclnn::host
