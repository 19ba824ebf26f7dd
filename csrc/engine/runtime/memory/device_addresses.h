// The addresses of device memory: a range that is reserved once, so that no other memory of the process is ever there. With
// TORCH_ACLNN_HOST_MODE=isolate the memory itself is at host_view() of its address.
#pragma once

#include <cstddef>
#include <cstdint>

namespace torch_aclnn::host {

constexpr size_t kHugePage = size_t{2} << 20;

size_t round_up_to_pages(size_t size);

// True where what aclrtReserveMemAddress hands out is in the range too: isolated memory is at one distance from all its addresses, and a
// dry run knows device memory by its address.
bool all_addresses_are_in_range() noexcept;

// Addresses without memory, of whole pages; aligned for huge pages where they are large. What was given back last is used again last, so
// that for a long time nothing else is where freed memory was. 207001 if there are none left.
uintptr_t take_addresses(size_t size);
void give_back_addresses(uintptr_t begin);

// Puts fresh memory there, and takes it away. 207001 if the machine has not that much. In a dry run there is none, but what
// known_values.h puts there.
void put_memory(uintptr_t address, size_t size);
void take_memory_away(uintptr_t address, size_t size) noexcept;

}  // namespace torch_aclnn::host
