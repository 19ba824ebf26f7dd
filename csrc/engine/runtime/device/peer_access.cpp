// Whether one device reaches the memory of another.

#include "engine/runtime/device/device.h"
#include "engine/runtime/error/call.h"

using namespace torch_aclnn::host;

// All devices are in one address space, so each reaches all memory and there is nothing to switch on.
extern "C" TORCH_ACLNN_HOST_API aclError aclrtDeviceCanAccessPeer(int32_t* canAccessPeer, int32_t deviceId, int32_t peerDeviceId) {
    return guarded(__func__, [&](const char* function) -> aclError {
        if (canAccessPeer == nullptr) return fail_null(function, "canAccessPeer");
        Device* device = nullptr;
        if (aclError code = find_device(function, "deviceId", deviceId, device)) return code;
        if (aclError code = find_device(function, "peerDeviceId", peerDeviceId, device)) return code;
        *canAccessPeer = deviceId == peerDeviceId ? 0 : 1;
        return ACL_SUCCESS;
    });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t) {
    return guarded(__func__, [&](const char* function) -> aclError {
        Device* device = nullptr;
        return find_device(function, "peerDeviceId", peerDeviceId, device);
    });
}
