#include "engine/runtime/stream/stream_order.h"

#include <unistd.h>

#include <cstdio>
#include <mutex>
#include <set>
#include <tuple>

#include "engine/runtime/config/config.h"
#include "engine/runtime/diagnostics/findings.h"
#include "engine/runtime/lasting.h"
#include "engine/runtime/memory/access_history.h"
#include "engine/runtime/memory/device_memory.h"
#include "engine/runtime/text.h"
#include "torch_aclnn/memory_blocks.h"

namespace torch_aclnn::host {
namespace {

constexpr int kProgram = -1;  // in place of a stream's number

struct Order {
    std::mutex mutex;
    std::map<int, StreamClock> streams;
    StreamClock program;
    AccessHistory history;
    std::map<uintptr_t, uint64_t> given_out;  // when the program's allocator last gave out a block, by its address
    uint64_t time = 0;
    std::set<std::tuple<const char*, const char*, int, const char*, const char*, int>> reported;
};

constexpr auto& order = lasting<Order>;

std::string description(const MemoryTouch& touch) {
    const std::string place = touch.stream == kProgram ? "at once" : text("on stream ", touch.stream);
    return text(touch.task, touch.is_write ? " writes \"" : " reads \"", touch.parameter, "\" ", place);
}

// Returns true if the allocator has given the memory out again since. A block may be cut, so that it begins before the memory.
bool given_out_since(const Order& order, uintptr_t address, uint64_t time) {
    const auto next = order.given_out.upper_bound(address);
    return next != order.given_out.begin() && std::prev(next)->second > time;
}

void print_stack(const char* which, const MemoryTouch& touch) {
    if (touch.asked_at == nullptr) return;
    std::fprintf(stderr, "torch_aclnn: the %s was called from\n", which);
    touch.asked_at->print(STDERR_FILENO);
}

void report(Order& order, const MemoryTouch& earlier, const MemoryTouch& later, const MemoryAccess& access) {
    if (!order.reported.emplace(earlier.task, earlier.parameter, earlier.stream, later.task, later.parameter, later.stream).second) return;
    const char* cause = given_out_since(order, reinterpret_cast<uintptr_t>(access.data), earlier.time)
                            ? "; the memory was freed and given out again before the first was known to be done: record_stream is missing"
                            : "; an event is missing, or a synchronisation";
    std::fprintf(stderr,
                 "torch_aclnn: TORCH_ACLNN_HOST_MODE=check_streams: nothing orders two uses of the %zu bytes at %p: %s, and then %s%s\n",
                 access.bytes, access.data, description(earlier).c_str(), description(later).c_str(), cause);
    print_stack("first", earlier);
    print_stack("second", later);
    add_finding("unordered use of memory");
}

// Adds a task that touches memory. The clock says what comes before it, and then has this task too.
void touch(Order& order, int stream, StreamClock& clock, const char* task, const std::vector<MemoryAccess>& accesses,
           const std::shared_ptr<const CallStack>& asked_at) {
    const uint64_t number = clock.advance(stream), time = ++order.time;
    for (const MemoryAccess& access : accesses) {
        const MemoryTouch later{task, access.name, stream, number, time, access.is_write, asked_at};
        const auto compare = [&](const MemoryTouch& earlier) {
            if (earlier.number > clock.of(earlier.stream)) report(order, earlier, later, access);
        };
        order.history.add(reinterpret_cast<uintptr_t>(access.data), access.bytes, later, compare);
    }
}

// The memory is given out or back, so what was known of it no longer counts.
void forget(const void* memory, size_t bytes) {
    if (!config().check_streams) return;
    const std::lock_guard<std::mutex> lock(order().mutex);
    const auto begin = reinterpret_cast<uintptr_t>(memory);
    order().history.forget(begin, bytes);
    order().given_out.erase(order().given_out.lower_bound(begin), order().given_out.lower_bound(begin + bytes));
}
const bool memory_is_followed = (memory_listener = forget, true);

}  // namespace

void order_launch(int stream, const char* task, const std::vector<MemoryAccess>& accesses, std::shared_ptr<const CallStack> asked_at) {
    if (!config().check_streams) return;
    const std::lock_guard<std::mutex> lock(order().mutex);
    StreamClock& clock = order().streams[stream];
    clock.merge(order().program);
    touch(order(), stream, clock, task, accesses, std::move(asked_at));
}

void order_program(const char* function, const std::vector<MemoryAccess>& accesses) {
    if (!config().check_streams) return;
    const std::lock_guard<std::mutex> lock(order().mutex);
    touch(order(), kProgram, order().program, function, accesses, CallStack::for_streams());
}

StreamClock order_so_far(int stream) {
    if (!config().check_streams) return {};
    const std::lock_guard<std::mutex> lock(order().mutex);
    StreamClock clock = order().streams[stream];
    clock.merge(order().program);
    return clock;
}

void order_after(int stream, const StreamClock& clock) {
    if (!config().check_streams) return;
    const std::lock_guard<std::mutex> lock(order().mutex);
    order().streams[stream].merge(clock);
}

void order_program_after(const StreamClock& clock) {
    if (!config().check_streams) return;
    const std::lock_guard<std::mutex> lock(order().mutex);
    order().program.merge(clock);
}

}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" void torchAclnnHostBlockAllocated(const void* block) {
    if (!config().check_streams) return;
    const std::lock_guard<std::mutex> lock(order().mutex);
    order().given_out[reinterpret_cast<uintptr_t>(block)] = ++order().time;
}
