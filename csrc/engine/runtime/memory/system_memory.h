// Memory of the machine, of which all memory that the engine hands out is made.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace torch_aclnn::host {

struct Free {
    void operator()(void* memory) const noexcept { std::free(memory); }
};
using SystemMemory = std::unique_ptr<void, Free>;

// Not initialised. 207001 if the machine has not that much.
SystemMemory allocate_system_memory(size_t size, size_t alignment);

}  // namespace torch_aclnn::host
