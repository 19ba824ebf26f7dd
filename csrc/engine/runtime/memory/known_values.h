// In a dry run (TORCH_ACLNN_HOST_COMPUTE=0) device memory is a range of addresses, and only what is known is really there. Host memory is
// there as always, so all of it is known.
#pragma once

#include <cstddef>

namespace torch_aclnn::host {

// Returns true for addresses of device memory, where values may be unknown in a dry run.
bool is_in_device_range(const void* address) noexcept;

// Returns true if each byte of the memory is known.
bool has_values(const void* address, size_t bytes);
// Puts memory at addresses that are about to be written. Their values become known by add_values(). 207001 if the machine refuses.
void make_room_for_values(const void* address, size_t bytes);
void add_values(const void* address, size_t bytes);
void forget_values(const void* address, size_t bytes) noexcept;

// Writes zeros to the memory of the machine at an address, which takes pages for both ends only.
void write_zeros(void* address, size_t bytes) noexcept;

}  // namespace torch_aclnn::host
