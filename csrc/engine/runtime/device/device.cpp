#include "engine/runtime/device/device.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <iomanip>
#include <vector>

#include "engine/runtime/call/traced.h"
#include "engine/runtime/calling_thread.h"
#include "engine/runtime/config/config.h"
#include "engine/runtime/device/context.h"
#include "engine/runtime/device/process.h"
#include "engine/runtime/device/timer_slack.h"
#include "engine/runtime/diagnostics/call_stack.h"
#include "engine/runtime/diagnostics/findings.h"
#include "engine/runtime/error/error.h"
#include "engine/runtime/error/guarded.h"
#include "engine/runtime/fault/injection.h"

namespace torch_aclnn::host {
namespace {

// Never destroyed: memory is still freed while the process exits.
const std::vector<std::unique_ptr<Device>>& devices() {
    static const auto* const once = [] {
        auto* all = new std::vector<std::unique_ptr<Device>>;
        const int count = visible_device_count();
        for (int index = 0; index < count; ++index) all->push_back(std::make_unique<Device>(index));
        return all;
    }();
    return *once;
}

std::string mebibytes(size_t bytes) {
    return text(std::fixed, std::setprecision(2), static_cast<double>(bytes) / (1 << 20), " MiB");
}

}  // namespace

Device::Device(int index) : index_(index), total_memory_(config().memory_bytes), primary_context_(make_context(index, true)) {}

void Device::reserve(size_t bytes) {
    size_t used = used_memory_.load(std::memory_order_relaxed);
    do {
        if (bytes > total_memory_ - used)
            throw Error(ACL_ERROR_RT_MEMORY_ALLOCATION,
                        text("device ", index_, " is out of memory: asked for ", mebibytes(bytes), ", free ",
                             mebibytes(total_memory_ - used), " of ", mebibytes(total_memory_), " (TORCH_ACLNN_HOST_MEMORY)"));
    } while (!used_memory_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
}

int device_count() {
    return static_cast<int>(devices().size());
}

Device& find_device(const char* parameter, int64_t index) {
    require_not_forked();
    if (device_count() == 0)
        refuse(ACL_ERROR_RT_INVALID_DEVICEID, parameter, "a device, of which ASCEND_RT_VISIBLE_DEVICES leaves none", std::to_string(index));
    if (index < 0 || index >= device_count())
        refuse(ACL_ERROR_RT_INVALID_DEVICEID, parameter, text("a device in 0..", device_count() - 1, " (TORCH_ACLNN_HOST_DEVICES)"),
               std::to_string(index));
    return *devices()[static_cast<size_t>(index)];
}

Device& current_device() {
    require_not_forked();
    const int index = current_device_index();
    if (index < 0) refuse(ACL_ERROR_RT_CONTEXT_NULL, "calling thread", "a current device, as aclrtSetDevice sets it", "none");
    return *devices()[static_cast<size_t>(index)];
}

// The engine does without; CANN's documents want it before any other function.
static void report_missing_init() {
    static std::atomic<bool> reported{false};
    if (!collecting_findings() || initialized() || reported.exchange(true)) return;
    std::fprintf(stderr, "torch_aclnn: aclrtSetDevice is called before aclInit, called from\n");
    CallStack::here().print(STDERR_FILENO);
    add_finding("missing aclInit");
}

}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" aclError aclrtSetDevice(int32_t deviceId) {
    return traced(
        __func__,
        [&] {
            require_valid_config();
            set_configured_faults();
            open_trace();  // of a program that has not called aclInit
            report_missing_init();
            Device& device = find_device("deviceId", deviceId);
            device.activate();
            set_current(device.primary_context(), deviceId);
            allow_late_timers();
        },
        [&] { return call_arguments("deviceId", deviceId); });
}

extern "C" aclError aclrtGetDevice(int32_t* deviceId) {
    return guarded(__func__, [&] {
        require_pointer("deviceId", deviceId);
        *deviceId = current_device().index();
    });
}

extern "C" aclError aclrtGetDeviceCount(uint32_t* count) {
    return guarded(__func__, [&] {
        require_pointer("count", count);
        *count = static_cast<uint32_t>(device_count());
    });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t* flags, int32_t* active) {
    return guarded(__func__, [&] {
        require_pointer("active", active);
        const Device& device = find_device("deviceId", deviceId);
        if (flags != nullptr) *flags = 0;
        *active = device.active() ? 1 : 0;
    });
}

// The engine numbers devices only one way.
extern "C" TORCH_ACLNN_HOST_API aclError aclrtGetLogicDevIdByUserDevId(int32_t userDeviceId, int32_t* logicDeviceId) {
    return guarded(__func__, [&] {
        require_pointer("logicDeviceId", logicDeviceId);
        *logicDeviceId = find_device("userDeviceId", userDeviceId).index();
    });
}
