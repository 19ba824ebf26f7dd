#include "engine/runtime/stream/dry_run.h"

#include <algorithm>

#include "engine/runtime/config/config.h"
#include "engine/runtime/memory/known_values.h"
#include "engine/runtime/memory/memory_use.h"

namespace torch_aclnn::host {
namespace {

bool computes(const std::vector<MemoryAccess>& accesses) {
    size_t written = 0;
    for (const MemoryAccess& access : accesses) {
        if (access.is_write && is_in_device_range(access.data)) written += access.bytes;
        if ((!access.is_write || access.keeps) && !has_values(access.data, access.bytes)) return false;
    }
    return written <= config().known_bytes;
}

template <class Action>
void for_each_write(const std::vector<MemoryAccess>& accesses, Action action) {
    for (const MemoryAccess& access : accesses)
        if (access.is_write && access.bytes > 0) action(access.data, access.bytes);
}

}  // namespace

void perform(const std::vector<MemoryAccess>& accesses, const std::function<void()>& run, const std::function<void()>& skip) {
    if (!config().dry_run) return run();
    const bool is_computed = computes(accesses);
    for_each_write(accesses, forget_values);
    if (!is_computed) return skip();
    for_each_write(accesses, make_room_for_values);
    run();
    for_each_write(accesses, add_values);
}

void perform(Task& task) {
    const WorkOnMemory here;
    if (!config().dry_run) return task.run();
    perform(task.accesses(), [&] { task.run(); }, [&] { task.skip(); });
}

}  // namespace torch_aclnn::host
