#include "engine/runtime/device/device.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <iomanip>

#include "engine/runtime/call/traced.h"
#include "engine/runtime/calling_thread.h"
#include "engine/runtime/config/config.h"
#include "engine/runtime/device/context.h"
#include "engine/runtime/device/process.h"
#include "engine/runtime/diagnostics/call_stack.h"
#include "engine/runtime/diagnostics/findings.h"
#include "engine/runtime/fault/injection.h"

namespace torch_aclnn::host {

// Devices are never destroyed, because memory is still freed while the process exits.
static const std::vector<std::unique_ptr<Device>>& devices() {
    static const auto* const once = [] {
        auto* all = new std::vector<std::unique_ptr<Device>>;
        const int count = visible_device_count();
        for (int index = 0; index < count; ++index) all->push_back(std::make_unique<Device>(index));
        return all;
    }();
    return *once;
}

// Lets timed waits of the calling thread, and of the threads that it creates from now on, end up to a millisecond late.
//
// For each of its task queues torch_npu keeps a thread that looks for memory to release, and waits a microsecond between two looks. With
// the system's slack of 50 microseconds it wakes 13,000 times a second, all through the process's life, which takes a quarter of a
// processor.
static void allow_late_timers() noexcept {
    constexpr unsigned long kNanoseconds = 1'000'000;
    thread_local bool done = false;
    if (done) return;
    done = true;  // it is done once, so that later settings of the program stay
    const int slack = prctl(PR_GET_TIMERSLACK);
    if (slack >= 0 && static_cast<unsigned long>(slack) < kNanoseconds) prctl(PR_SET_TIMERSLACK, kNanoseconds);
}

static std::string mebibytes(size_t bytes) {
    return text(std::fixed, std::setprecision(2), static_cast<double>(bytes) / (1 << 20), " MiB");
}

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

// The engine works without aclInit; CANN's documents want it before any other function.
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
    return traced(__func__, call_arguments("deviceId", deviceId), [&] {
        require_valid_config();
        set_configured_faults();
        open_trace();  // a program may not have called aclInit
        report_missing_init();
        Device& device = find_device("deviceId", deviceId);
        device.activate();
        set_current(device.primary_context(), deviceId);
        allow_late_timers();
    });
}

extern "C" aclError aclrtGetDevice(int32_t* deviceId) {
    return write_result(__func__, "deviceId", deviceId, [&] { return current_device().index(); });
}

extern "C" aclError aclrtGetDeviceCount(uint32_t* count) {
    return write_result(__func__, "count", count, [&] { return device_count(); });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t* flags, int32_t* active) {
    return write_result(__func__, "active", active, [&] {
        const Device& device = find_device("deviceId", deviceId);
        if (flags != nullptr) *flags = 0;
        return device.active() ? 1 : 0;
    });
}

// The engine has one numbering of devices.
extern "C" TORCH_ACLNN_HOST_API aclError aclrtGetLogicDevIdByUserDevId(int32_t userDeviceId, int32_t* logicDeviceId) {
    return write_result(__func__, "logicDeviceId", logicDeviceId, [&] { return find_device("userDeviceId", userDeviceId).index(); });
}

// All devices are in one address space, so each reaches all memory and there is nothing to switch on.
extern "C" TORCH_ACLNN_HOST_API aclError aclrtDeviceCanAccessPeer(int32_t* canAccessPeer, int32_t deviceId, int32_t peerDeviceId) {
    return write_result(__func__, "canAccessPeer", canAccessPeer, [&] {
        (void)find_device("deviceId", deviceId);
        (void)find_device("peerDeviceId", peerDeviceId);
        return deviceId == peerDeviceId ? 0 : 1;
    });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t) {
    return guarded(__func__, [&] { (void)find_device("peerDeviceId", peerDeviceId); });
}
