// The records of kernels for a profiler: each task of a stream has one. There are no records of other kinds, and no callbacks at calls.

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/mspti/mspti.h"
#include "engine/runtime/diagnostics/task_watch.h"
#include "engine/runtime/lasting.h"

namespace torch_aclnn::host {
namespace {

struct Activities {
    std::mutex mutex;
    msptiBuffersCallbackRequestFunc request = nullptr;
    msptiBuffersCallbackCompleteFunc complete = nullptr;
    std::vector<msptiActivityKernel> records;  // records that have not been handed over
    uint64_t last_correlation = 0;
    std::atomic<bool> kernels{false};
};

constexpr auto& activities = lasting<Activities>;

void record(const EndedTask& task) {
    Activities& all = activities();
    const std::lock_guard<std::mutex> lock(all.mutex);
    msptiActivityKernel kernel{};
    kernel.kind = MSPTI_ACTIVITY_KIND_KERNEL;
    kernel.start = static_cast<uint64_t>(task.begin);
    kernel.end = static_cast<uint64_t>(task.end);
    kernel.ds = {static_cast<uint32_t>(task.device), static_cast<uint32_t>(task.stream)};
    kernel.correlationId = ++all.last_correlation;
    kernel.type = "host";
    kernel.name = task.name;
    all.records.push_back(kernel);
}

// Takes as many of the oldest records as the buffer holds. Returns their bytes.
size_t fill(uint8_t* buffer, size_t size, size_t max_records) {
    Activities& all = activities();
    const std::lock_guard<std::mutex> lock(all.mutex);
    size_t count = std::min(all.records.size(), size / sizeof(msptiActivityKernel));
    if (max_records != 0) count = std::min(count, max_records);
    const auto end = all.records.begin() + static_cast<ptrdiff_t>(count);
    std::memcpy(buffer, all.records.data(), count * sizeof(msptiActivityKernel));
    all.records.erase(all.records.begin(), end);
    return count * sizeof(msptiActivityKernel);
}

std::pair<msptiBuffersCallbackRequestFunc, msptiBuffersCallbackCompleteFunc> callbacks() {
    const std::lock_guard<std::mutex> lock(activities().mutex);
    return {activities().request, activities().complete};
}

bool has_records() {
    const std::lock_guard<std::mutex> lock(activities().mutex);
    return !activities().records.empty();
}

}  // namespace
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" {

msptiResult msptiSubscribe(msptiSubscriberHandle* subscriber, void*, void*) {
    if (subscriber == nullptr) return MSPTI_ERROR_INVALID_PARAMETER;
    *subscriber = &activities();
    return MSPTI_SUCCESS;
}

msptiResult msptiUnsubscribe(msptiSubscriberHandle subscriber) {
    return subscriber == &activities() ? MSPTI_SUCCESS : MSPTI_ERROR_INVALID_PARAMETER;
}

msptiResult msptiActivityRegisterCallbacks(msptiBuffersCallbackRequestFunc funcBufferRequested,
                                           msptiBuffersCallbackCompleteFunc funcBufferCompleted) {
    if (funcBufferRequested == nullptr || funcBufferCompleted == nullptr) return MSPTI_ERROR_INVALID_PARAMETER;
    const std::lock_guard<std::mutex> lock(activities().mutex);
    activities().request = funcBufferRequested;
    activities().complete = funcBufferCompleted;
    return MSPTI_SUCCESS;
}

// Other kinds may be asked for, too; they have no records.
msptiResult msptiActivityEnable(msptiActivityKind kind) {
    if (kind != MSPTI_ACTIVITY_KIND_KERNEL) return MSPTI_SUCCESS;
    activities().kernels = true;
    watch_tasks(record);
    return MSPTI_SUCCESS;
}

msptiResult msptiActivityDisable(msptiActivityKind kind) {
    if (kind != MSPTI_ACTIVITY_KIND_KERNEL) return MSPTI_SUCCESS;
    activities().kernels = false;
    watch_tasks(nullptr);
    return MSPTI_SUCCESS;
}

bool msptiActivityIsEnabled(msptiActivityKind kind) {
    return kind == MSPTI_ACTIVITY_KIND_KERNEL && activities().kernels;
}

// The callbacks may call back, so they are called without the lock.
msptiResult msptiActivityFlushAll(uint32_t) {
    const auto [request, complete] = callbacks();
    if (request == nullptr) return MSPTI_SUCCESS;
    while (has_records()) {
        uint8_t* buffer = nullptr;
        size_t size = 0, max_records = 0;
        request(&buffer, &size, &max_records);
        if (buffer == nullptr) return MSPTI_ERROR_INVALID_PARAMETER;
        const size_t filled = fill(buffer, size, max_records);
        complete(buffer, size, filled);
        if (filled == 0) return MSPTI_ERROR_INVALID_PARAMETER;
    }
    return MSPTI_SUCCESS;
}

// A null record stands before the first.
msptiResult msptiActivityGetNextRecord(uint8_t* buffer, size_t validBufferSizeBytes, msptiActivityKernel** record) {
    if (buffer == nullptr || record == nullptr) return MSPTI_ERROR_INVALID_PARAMETER;
    auto* const first = reinterpret_cast<msptiActivityKernel*>(buffer);
    auto* const next = *record == nullptr ? first : *record + 1;
    if (reinterpret_cast<uint8_t*>(next + 1) > buffer + validBufferSizeBytes) return MSPTI_ERROR_MAX_LIMIT_REACHED;
    *record = next;
    return MSPTI_SUCCESS;
}

// Kernels are not related to what called them: torch_npu's queue launches most of them from a thread that has no such numbers.
msptiResult msptiActivityPushExternalCorrelationId(int, uint64_t) {
    return MSPTI_ERROR_INVALID_PARAMETER;
}

msptiResult msptiActivityPopExternalCorrelationId(int, uint64_t*) {
    return MSPTI_ERROR_INVALID_PARAMETER;
}

}  // extern "C"
