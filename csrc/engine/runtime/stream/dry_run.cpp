#include "engine/runtime/stream/dry_run.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "engine/runtime/config/config.h"
#include "engine/runtime/memory/host_view.h"
#include "engine/runtime/memory/known_values.h"
#include "engine/runtime/memory/memory_use.h"

namespace torch_aclnn::host {

// Larger results of random numbers, copies from the host and floating-point results are not kept: many are a model's parameters, or tables
// of its positions, whose values nobody reads.
constexpr size_t kDrawnBytes = size_t{16} << 10, kFloatingBytes = size_t{1} << 20;
// A task with larger operands does not run to find how many elements a mask selects.
constexpr size_t kSelectedBytes = size_t{256} << 20;

static bool is_read(const MemoryAccess& access) {
    return !access.is_write || access.keeps;
}

static bool is_known(const MemoryAccess& access) {
    return has_values(access.data, access.bytes);
}

static bool writes_at_most(size_t most, const std::vector<MemoryAccess>& accesses) {
    size_t written = 0;
    for (const MemoryAccess& access : accesses)
        if (access.is_write && is_in_device_range(access.data)) written += access.bytes;
    return written <= most;
}

static bool reads_known_values(const std::vector<MemoryAccess>& accesses) {
    return std::all_of(accesses.begin(), accesses.end(), [](const MemoryAccess& access) { return !is_read(access) || is_known(access); });
}

// Returns true or false if that is each element of the result, whatever the unknown values are.
static std::optional<bool> decided(Task::Nature nature, const std::vector<MemoryAccess>& accesses) {
    if (nature == Task::Nature::equality || nature == Task::Nature::inequality) {
        note_assumption("unknown values are finite");
        return nature == Task::Nature::equality;
    }
    if (nature != Task::Nature::disjunction && nature != Task::Nature::conjunction) return std::nullopt;
    const bool result = nature == Task::Nature::disjunction;
    const auto decides = [result](const MemoryAccess& access) {
        if (!is_read(access) || !is_known(access)) return false;
        const char* const values = host_view(static_cast<const char*>(access.data));
        return std::all_of(values, values + access.bytes, [result](char value) { return (value != 0) == result; });
    };
    return std::any_of(accesses.begin(), accesses.end(), decides) ? std::optional(result) : std::nullopt;
}

static void for_each_write(const std::vector<MemoryAccess>& accesses, auto action) {
    for (const MemoryAccess& access : accesses)
        if (access.is_write && access.bytes > 0) action(access.data, access.bytes);
}

static void settle(const std::vector<MemoryAccess>& accesses, bool is_computed, const std::function<void()>& run,
                   const std::function<void()>& skip) {
    for_each_write(accesses, forget_values);
    if (!is_computed) return skip();
    for_each_write(accesses, make_room_for_values);
    run();
    for_each_write(accesses, add_values);
}

static size_t most_of(Task::Nature nature) {
    const size_t known = config().known_bytes;
    if (nature == Task::Nature::drawing) return std::min(kDrawnBytes, known);
    return nature == Task::Nature::uploading || nature == Task::Nature::floating ? std::min(kFloatingBytes, known) : known;
}

// What a known mask selects among unknown values is unknown, but how much it selects is known.
static void select_unknown(Task& task, const std::vector<MemoryAccess>& accesses) {
    const auto reads_known_mask = [](const MemoryAccess& access) { return std::string_view(access.name) == "mask" && is_known(access); };
    const bool is_small =
        std::all_of(accesses.begin(), accesses.end(), [](const MemoryAccess& one) { return one.bytes <= kSelectedBytes; });
    if (!is_small || std::none_of(accesses.begin(), accesses.end(), reads_known_mask)) {
        note_assumption("a result whose size unknown values decide is taken for the largest");
        return task.skip();
    }
    for (const MemoryAccess& access : accesses) make_room_for_values(access.data, access.bytes);
    task.run();
    for_each_write(accesses, [](const void* data, size_t bytes) { write_zeros(host_view(const_cast<void*>(data)), bytes); });
}

// Of vectors that are joined, those that are known are known in the result.
static void join_known(Task& task, const std::vector<MemoryAccess>& accesses) {
    if (std::none_of(accesses.begin(), accesses.end(), [](const MemoryAccess& access) { return is_read(access) && is_known(access); }))
        return task.skip();
    for (const MemoryAccess& access : accesses) make_room_for_values(access.data, access.bytes);
    task.run();
    for_each_write(accesses, [&](const void* result, size_t) {
        const auto* place = static_cast<const char*>(result);
        for (const MemoryAccess& access : accesses) {
            if (!is_read(access)) continue;
            is_known(access) ? add_values(place, access.bytes) : write_zeros(host_view(const_cast<char*>(place)), access.bytes);
            place += access.bytes;
        }
    });
}

static void skip(Task& task, Task::Nature nature, const std::vector<MemoryAccess>& accesses) {
    if (nature == Task::Nature::packing) return select_unknown(task, accesses);
    if (nature == Task::Nature::joining) return join_known(task, accesses);
    task.skip();
    const auto choice = task.choice();
    if (!choice || choice->bytes() > config().known_bytes || !is_known(*choice)) return;
    make_room_for_values(choice->numbers, choice->bytes());
    choose_evenly(*choice);
    add_values(choice->numbers, choice->bytes());
    note_assumption("experts are chosen evenly");
}

void perform(const std::vector<MemoryAccess>& accesses, const std::function<void()>& run, const std::function<void()>& skip) {
    if (!config().dry_run) return run();
    settle(accesses, writes_at_most(config().known_bytes, accesses) && reads_known_values(accesses), run, skip);
}

void perform(Task& task) {
    const WorkOnMemory here;
    if (!config().dry_run) return task.run();
    const auto accesses = task.accesses();
    const Task::Nature nature = task.nature();
    // The largest size of a packed result does not tell how much is written.
    const bool may_be_known = nature == Task::Nature::packing ? config().known_bytes > 0 : writes_at_most(most_of(nature), accesses);
    const bool is_computed = may_be_known && reads_known_values(accesses);
    const auto result = nature == Task::Nature::zeroing ? false : may_be_known && !is_computed ? decided(nature, accesses) : std::nullopt;
    const auto write_result = [&] {
        task.skip();
        for_each_write(accesses, [&](const void* data, size_t bytes) {
            void* const view = host_view(const_cast<void*>(data));
            *result ? static_cast<void>(std::memset(view, 1, bytes)) : write_zeros(view, bytes);
        });
    };
    settle(
        accesses, may_be_known && (is_computed || result), [&] { result ? write_result() : task.run(); },
        [&] { skip(task, nature, accesses); });
}

}  // namespace torch_aclnn::host
