#include "engine/runtime/stream/dry_run.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "engine/runtime/config/config.h"
#include "engine/runtime/memory/host_view.h"
#include "engine/runtime/memory/known_values.h"
#include "engine/runtime/memory/memory_use.h"

namespace torch_aclnn::host {
namespace {

constexpr size_t kDrawnBytes = size_t{16} << 10;

bool is_read(const MemoryAccess& access) {
    return !access.is_write || access.keeps;
}

bool is_known(const MemoryAccess& access) {
    return has_values(access.data, access.bytes);
}

bool writes_at_most(size_t most, const std::vector<MemoryAccess>& accesses) {
    size_t written = 0;
    for (const MemoryAccess& access : accesses)
        if (access.is_write && is_in_device_range(access.data)) written += access.bytes;
    return written <= most;
}

bool reads_known_values(const std::vector<MemoryAccess>& accesses) {
    return std::all_of(accesses.begin(), accesses.end(), [](const MemoryAccess& access) { return !is_read(access) || is_known(access); });
}

// True or false if one operand makes that of each element of the result, whatever the others are.
std::optional<bool> decided(Task::Nature nature, const std::vector<MemoryAccess>& accesses) {
    if (nature != Task::Nature::disjunction && nature != Task::Nature::conjunction) return std::nullopt;
    const bool result = nature == Task::Nature::disjunction;
    const auto decides = [result](const MemoryAccess& access) {
        if (!is_read(access) || !is_known(access)) return false;
        const char* const values = host_view(static_cast<const char*>(access.data));
        return std::all_of(values, values + access.bytes, [result](char value) { return (value != 0) == result; });
    };
    return std::any_of(accesses.begin(), accesses.end(), decides) ? std::optional(result) : std::nullopt;
}

template <class Action>
void for_each_write(const std::vector<MemoryAccess>& accesses, Action action) {
    for (const MemoryAccess& access : accesses)
        if (access.is_write && access.bytes > 0) action(access.data, access.bytes);
}

void settle(const std::vector<MemoryAccess>& accesses, bool is_computed, const std::function<void()>& run,
            const std::function<void()>& skip) {
    for_each_write(accesses, forget_values);
    if (!is_computed) return skip();
    for_each_write(accesses, make_room_for_values);
    run();
    for_each_write(accesses, add_values);
}

}  // namespace

void perform(const std::vector<MemoryAccess>& accesses, const std::function<void()>& run, const std::function<void()>& skip) {
    if (!config().dry_run) return run();
    settle(accesses, writes_at_most(config().known_bytes, accesses) && reads_known_values(accesses), run, skip);
}

void perform(Task& task) {
    const WorkOnMemory here;
    if (!config().dry_run) return task.run();
    const auto accesses = task.accesses();
    const Task::Nature nature = task.nature();
    const size_t most = nature == Task::Nature::drawing ? std::min(kDrawnBytes, config().known_bytes) : config().known_bytes;
    const bool may_be_known = writes_at_most(most, accesses), is_computed = may_be_known && reads_known_values(accesses);
    const auto result = may_be_known && !is_computed ? decided(nature, accesses) : std::nullopt;
    const auto write_result = [&] {
        task.skip();
        for_each_write(accesses, [&](const void* data, size_t bytes) {
            std::memset(host_view(const_cast<void*>(data)), static_cast<int>(*result), bytes);
        });
    };
    settle(accesses, is_computed || result, [&] { result ? write_result() : task.run(); }, [&] { task.skip(); });
}

}  // namespace torch_aclnn::host
