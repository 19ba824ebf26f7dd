// TORCH_ACLNN_HOST_MODE=leaks: memory that a program has not freed.

#include "engine/runtime/diagnostics/leaks.h"
#include "engine/runtime/memory/allocation_map.h"
#include "engine/runtime/memory/memory_history.h"
#include "engine/runtime/text.h"

namespace torch_aclnn::host {

static void list_memory_leaks(LeakList& list) {
    memory_history().for_each_live([&](const MemoryRecord& record) {
        const std::string of = text(" bytes of device ", record.device);
        const std::string by = text(", allocated by ", record.made_by);
        list.add("freed", of + by, text(record.size, of, " at ", reinterpret_cast<void*>(record.begin), by), record.made_at, record.size);
    });
    host_memory().for_each([&](const Block& block) {
        const std::string place = text(" bytes of host memory at ", reinterpret_cast<void*>(block.base), ", allocated by aclrtMallocHost");
        list.add("freed", "host memory", text(block.size, place), *block.made_at, block.size);
    });
    registered_memory().for_each([&](const Block& block) {
        const std::string place = text(" bytes of registered host memory at ", reinterpret_cast<void*>(block.base));
        list.add("unregistered", "registered", text(block.size, place), *block.made_at, block.size);
    });
}

const bool leaked_memory_is_listed = (add_leak_report(list_memory_leaks), true);
}  // namespace torch_aclnn::host
