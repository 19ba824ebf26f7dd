// TORCH_ACLNN_HOST_LEAKS: memory that a program has not freed.

#include <unistd.h>

#include <cstdio>

#include "engine/runtime/device/process.h"
#include "engine/runtime/memory/allocation_map.h"
#include "engine/runtime/memory/memory_history.h"

namespace torch_aclnn::host {
namespace {

void print_memory_leaks() {
    memory_history().for_each_live([](const MemoryRecord& record) {
        std::fprintf(stderr, "torch_aclnn: not freed before aclFinalize: %zu bytes of device %d at 0x%zx, allocated by %s, called from\n",
                     record.size, record.device, static_cast<size_t>(record.begin), record.made_by);
        record.made_at.print(STDERR_FILENO);
    });
    host_memory().for_each([](const Block& block) {
        std::fprintf(stderr, "torch_aclnn: not freed before aclFinalize: %zu bytes of host memory at 0x%zx, allocated by aclrtMallocHost\n",
                     block.size, static_cast<size_t>(block.base));
    });
    registered_memory().for_each([](const Block& block) {
        std::fprintf(stderr, "torch_aclnn: still registered at aclFinalize: %zu bytes of host memory at 0x%zx\n", block.size,
                     static_cast<size_t>(block.base));
    });
}

const bool leaked_memory_are_reported = [] {
    add_leak_report(print_memory_leaks);
    return true;
}();

}  // namespace
}  // namespace torch_aclnn::host
