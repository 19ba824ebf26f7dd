// Whether one device reaches the memory of another.

#include "engine/runtime/device/device.h"
#include "engine/runtime/error/guarded.h"

using namespace torch_aclnn::host;

// All devices are in one address space, so each reaches all memory and there is nothing to switch on.
extern "C" TORCH_ACLNN_HOST_API aclError aclrtDeviceCanAccessPeer(int32_t* canAccessPeer, int32_t deviceId, int32_t peerDeviceId) {
    return guarded(__func__, [&] {
        require_pointer("canAccessPeer", canAccessPeer);
        (void)find_device("deviceId", deviceId);
        (void)find_device("peerDeviceId", peerDeviceId);
        *canAccessPeer = deviceId == peerDeviceId ? 0 : 1;
    });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t) {
    return guarded(__func__, [&] { (void)find_device("peerDeviceId", peerDeviceId); });
}
