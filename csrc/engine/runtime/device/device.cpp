#include "engine/runtime/device/device.h"

#include <iomanip>
#include <vector>

#include "engine/runtime/config/config.h"
#include "engine/runtime/device/context.h"
#include "engine/runtime/error/call.h"
#include "engine/runtime/stream/stream.h"

namespace torch_aclnn::host {
namespace {

// Never destroyed: memory is still freed while the process exits.
const std::vector<std::unique_ptr<Device>>& devices() {
    static const auto* const once = [] {
        auto* all = new std::vector<std::unique_ptr<Device>>;
        for (int index = 0; index < config().device_count; ++index) all->push_back(std::make_unique<Device>(index));
        return all;
    }();
    return *once;
}

std::string mebibytes(size_t bytes) {
    return text(std::fixed, std::setprecision(2), static_cast<double>(bytes) / (1 << 20), " MiB");
}

}  // namespace

Device::Device(int index)
    : index_(index),
      total_memory_(config().memory_bytes),
      default_stream_(make_stream(index)),
      primary_context_(make_context(index, true)) {}

bool Device::reserve(size_t bytes) noexcept {
    size_t used = used_memory_.load(std::memory_order_relaxed);
    do {
        if (bytes > total_memory_ - used) return false;
    } while (!used_memory_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    return true;
}

int device_count() {
    return static_cast<int>(devices().size());
}

aclError find_device(const char* function, const char* parameter, int64_t index, Device*& device) {
    if (index >= 0 && index < device_count()) {
        device = devices()[static_cast<size_t>(index)].get();
        return ACL_SUCCESS;
    }
    return fail(ACL_ERROR_RT_INVALID_DEVICEID,
                text(function, ": ", parameter, " must be from 0 to ", device_count() - 1, " (TORCH_ACLNN_HOST_DEVICES), got ", index));
}

aclError find_current_device(const char* function, Device*& device) {
    const int index = chosen_device();
    if (index >= 0) {
        device = devices()[static_cast<size_t>(index)].get();
        return ACL_SUCCESS;
    }
    return fail(ACL_ERROR_RT_CONTEXT_NULL, text(function, ": the calling thread has no device; call aclrtSetDevice first"));
}

aclError fail_out_of_memory(const char* function, const Device& device, size_t size) {
    return fail(ACL_ERROR_RT_MEMORY_ALLOCATION,
                text(function, ": device ", device.index(), " is out of memory: asked for ", mebibytes(size), ", free ",
                     mebibytes(device.free_memory()), " of ", mebibytes(device.total_memory()), " (TORCH_ACLNN_HOST_MEMORY)"));
}

}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" aclError aclrtSetDevice(int32_t deviceId) {
    return traced(
        __func__,
        [&](const char* function) -> aclError {
            if (!config_problem().empty()) return fail(ACL_ERROR_INVALID_PARAM, config_problem());
            Device* device = nullptr;
            if (aclError code = find_device(function, "deviceId", deviceId, device)) return code;
            device->activate();
            choose(device->primary_context(), deviceId);
            return ACL_SUCCESS;
        },
        [&] { return text(deviceId); });
}

// Waits for the device's work. Its memory stays: torch_npu still frees some of it afterwards.
extern "C" aclError aclrtResetDevice(int32_t deviceId) {
    return traced(
        __func__,
        [&](const char* function) -> aclError {
            Device* device = nullptr;
            if (aclError code = find_device(function, "deviceId", deviceId, device)) return code;
            for (const auto& stream : streams_of(deviceId)) stream->wait(Stream::kForever);
            device->reset();
            if (chosen_device() == deviceId) choose(nullptr, -1);
            return ACL_SUCCESS;
        },
        [&] { return text(deviceId); });
}

extern "C" aclError aclrtGetDevice(int32_t* deviceId) {
    return guarded(__func__, [&](const char* function) -> aclError {
        if (deviceId == nullptr) return fail_null(function, "deviceId");
        Device* device = nullptr;
        if (aclError code = find_current_device(function, device)) return code;
        *deviceId = device->index();
        return ACL_SUCCESS;
    });
}

extern "C" aclError aclrtGetDeviceCount(uint32_t* count) {
    return guarded(__func__, [&](const char* function) -> aclError {
        if (count == nullptr) return fail_null(function, "count");
        *count = static_cast<uint32_t>(device_count());
        return ACL_SUCCESS;
    });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t* flags, int32_t* active) {
    return guarded(__func__, [&](const char* function) -> aclError {
        if (active == nullptr) return fail_null(function, "active");
        Device* device = nullptr;
        if (aclError code = find_device(function, "deviceId", deviceId, device)) return code;
        if (flags != nullptr) *flags = 0;
        *active = device->active() ? 1 : 0;
        return ACL_SUCCESS;
    });
}

// The engine numbers devices only one way.
extern "C" TORCH_ACLNN_HOST_API aclError aclrtGetLogicDevIdByUserDevId(int32_t userDeviceId, int32_t* logicDeviceId) {
    return guarded(__func__, [&](const char* function) -> aclError {
        if (logicDeviceId == nullptr) return fail_null(function, "logicDeviceId");
        Device* device = nullptr;
        if (aclError code = find_device(function, "userDeviceId", userDeviceId, device)) return code;
        *logicDeviceId = userDeviceId;
        return ACL_SUCCESS;
    });
}
