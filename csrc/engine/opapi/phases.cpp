// The two phases, as every entry point has them.

#include "engine/opapi/checks.h"
#include "engine/opapi/executor_cache.h"
#include "engine/opapi/facts.h"
#include "engine/runtime/config/config.h"
#include "engine/runtime/device/device.h"
#include "engine/runtime/device/process.h"
#include "engine/runtime/fault/injection.h"

namespace torch_aclnn::host {
namespace {

constexpr uint64_t kWorkspaceSize = 1024;  // the workspace of each entry point with TORCH_ACLNN_HOST_MODE=workspace
constexpr uintptr_t kWorkspaceAlignment = 512;

void require_workspace_pointer(const aclOpExecutor& executor, const void* workspace, uint64_t size) {
    const uint64_t expected = std::max(size, executor.workspace_size);
    if (workspace == nullptr && expected > 0) refuse_null("workspace", std::to_string(expected) + " bytes");
}

void require_workspace(const aclOpExecutor& executor, const void* workspace, uint64_t size) {
    const uint64_t needed = executor.workspace_size;
    if (needed == 0) return;
    if (size < needed) refuse("workspaceSize", "the " + std::to_string(needed) + " bytes of phase 1", std::to_string(size));
    if (reinterpret_cast<uintptr_t>(workspace) % kWorkspaceAlignment != 0)
        refuse("workspace", "an address that is a multiple of " + std::to_string(kWorkspaceAlignment),
               std::to_string(reinterpret_cast<uintptr_t>(workspace)));
    const auto memory = device_memory_at(workspace, size);
    if (!memory || memory->reach < size)
        refuse("workspace", std::to_string(size) + " bytes of device memory",
               memory ? std::to_string(memory->reach) + " bytes to the end of the allocation" : describe_missing_memory(workspace));
}

void require_handles(const aclOpExecutor& executor) {
    const bool reads_addresses = executor.input_count + executor.output_count > 0;  // phase 2 reads the tensors' addresses
    for (const WatchedHandle& handle : executor.watched) {
        if (!config().keep_handles && !handle.is_live())
            refuse(handle.name(), "the " + std::string(handle.kind()) + " of phase 1 until phase 2 has been called",
                   "one that was destroyed between the phases");
        if (!handle.was_moved()) continue;
        if (!reads_addresses) refuse(handle.name(), "the data address of phase 1", "another, which aclSetRawTensorAddr gave it");
        require_device_view({handle.name(), handle.tensor()}, handle.is_written());
    }
}

// The handles that phase 1 was given must still be there, and so must the memory if any has been freed since.
void require_arguments(const aclOpExecutor& executor) {
    if (executor.cached == nullptr) require_handles(executor);
    if (executor.memory_version == device_memory_version()) return;
    for (const WatchedHandle& handle : executor.watched)
        if (const aclTensor* tensor = handle.tensor()) require_device_view({handle.name(), tensor}, handle.is_written());
}

void require_one_device(const aclOpExecutor& executor) {
    const WatchedHandle* first = nullptr;
    int device = -1;
    for (const WatchedHandle& handle : executor.watched) {
        const aclTensor* const tensor = handle.tensor();
        if (tensor == nullptr || tensor->empty()) continue;
        const auto memory = device_memory_at(tensor->first_element(), 1);
        if (!memory || memory->device < 0) continue;
        if (first != nullptr && memory->device != device)
            refuse(handle.name(), "memory of device " + std::to_string(device) + " like " + first->name(),
                   "memory of device " + std::to_string(memory->device));
        if (first == nullptr) first = &handle;
        device = memory->device;
    }
}

void require_not_finalized() {
    if (finalized()) throw Error(ACLNN_ERR_RUNTIME_ERROR, why_finalized());
}

void require_executor_of(const char* entry_point, const aclOpExecutor* executor) {
    require_executor(executor);
    if (executor->entry_point != entry_point && std::strcmp(executor->entry_point, entry_point) != 0)
        refuse("executor", "one of " + std::string(entry_point), "one of " + std::string(executor->entry_point));
}

void launch_or_fail_capture(const char* entry_point, aclrtStream stream, const auto& launch) {
    try {
        launch();
    } catch (const std::exception& error) {
        fail_capture(stream, entry_point, error);
        throw;
    }
}

uint64_t next_trace_number() {
    static std::atomic<uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

struct Finish {
    void operator()(aclOpExecutor* executor) const noexcept { executor->finish(); }
};
using UsedExecutor = std::unique_ptr<aclOpExecutor, Finish>;

void put_on_stream(aclrtStream stream, UsedExecutor executor) {
    if (executor->launch) {
        executor->hold_arguments();
        const std::shared_ptr<aclOpExecutor> shared = std::move(executor);
        return shared->launch(stream, shared);
    }
    // A repeatable executor has to finish first, because it may be used again with other addresses.
    executor->repeatable ? enqueue_and_wait(stream, *executor) : enqueue(stream, *executor);
    (void)executor.release();  // the stream finishes it
}

// Turns the code of an error of the runtime into aclnn's own for it.
void put_on_stream_or_runtime_error(aclrtStream stream, UsedExecutor executor) {
    try {
        put_on_stream(stream, std::move(executor));
    } catch (const Error& error) {
        throw Error(ACLNN_ERR_RUNTIME_ERROR, error.what());
    }
}

}  // namespace

uint64_t workspace_size_of_phase1(const char* entry_point) {
    const uint64_t of_npus = config().npu_workspace ? workspace_of_npus(entry_point) : 0;
    return std::max(of_npus, config().use_workspace ? kWorkspaceSize : 0);
}

void begin_phase1(const uint64_t* workspace_size, aclOpExecutor* const* executor) {
    if (workspace_size == nullptr || executor == nullptr) refuse_null("workspaceSize and executor", "places for the results");
    require_not_finalized();
}

uint64_t end_phase1(std::unique_ptr<aclOpExecutor> made, uint64_t* workspace_size, aclOpExecutor** executor) {
    if (device_count() > 1) require_one_device(*made);
    if (config().keep_handles) made->hold_arguments();
    phase1_may_fail(made->entry_point);
    const uint64_t number = tracing() ? next_trace_number() : 0;
    made->trace_number = number;
    made->workspace_size = workspace_size_of_phase1(made->entry_point);
    *workspace_size = made->workspace_size;
    cache_executor(*made);
    *executor = made.release();
    return number;
}

aclnnStatus run_phase2(EntryPoint& entry_point, void* workspace, uint64_t workspace_size, aclOpExecutor* executor,
                       aclrtStream stream) noexcept {
    uint64_t number = 0;
    const auto launch = [&] {
        require_executor_of(entry_point.name(), executor);
        number = executor->trace_number;
        require_workspace_pointer(*executor, workspace, workspace_size);
        // From here on the executor is used up, unless it is repeatable. If two threads use one at once, the second is too late.
        if (executor->repeatable)
            hold_repeatable(executor);
        else if (!slots_of<aclOpExecutor>().retire(executor))
            refuse_executor(executor);
        UsedExecutor used(executor);
        may_fail(entry_point.name());
        require_not_finalized();
        require_workspace(*executor, workspace, workspace_size);
        require_arguments(*executor);
        executor->workspace = workspace;
        executor->counted = &entry_point;
        if (config().asynchronous) executor->hold_arguments();
        put_on_stream_or_runtime_error(stream, std::move(used));
    };
    const auto body = [&] { launch_or_fail_capture(entry_point.name(), stream, launch); };
    const auto details = [&] {
        TraceDetails line = call_arguments("workspace", workspace, "workspaceSize", workspace_size).on(stream)();
        line.phase = 2;
        line.number = number;
        return line;
    };
    return traced(entry_point.name(), details, body, kAclnnCodes);
}

}  // namespace torch_aclnn::host
