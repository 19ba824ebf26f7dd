// The addresses of device memory: a range that is reserved once, so that no other memory of the process is ever there. With
// TORCH_ACLNN_HOST_MODE=isolate the memory itself is at host_view() of its address.
#pragma once

#include <cstddef>
#include <cstdint>

namespace torch_aclnn::host {

constexpr size_t kHugePage = size_t{2} << 20;

size_t round_up_to_pages(size_t size);

// Returns true where what aclrtReserveMemAddress hands out is in the range, too: isolated memory is at one distance from all its addresses,
// and a dry run knows device memory by its address.
bool all_addresses_are_in_range() noexcept;

// Takes addresses without memory, of whole pages; large ones are aligned for huge pages. Addresses that were given back last are used again
// last, so that for a long time nothing else is where freed memory was. 207001 if there are none left.
uintptr_t take_addresses(size_t size);
void give_back_addresses(uintptr_t begin);

// Map fresh memory at the address, and unmap it. 207001 if the machine lacks the memory. A dry run puts none there, but for what
// known_values.h does.
void put_memory(uintptr_t address, size_t size);
void take_memory_away(uintptr_t address, size_t size) noexcept;

}  // namespace torch_aclnn::host
