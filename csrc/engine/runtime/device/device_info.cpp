// What the engine says it is: the chip's name, the interface's version, the size of the machine.

#include <unistd.h>

#include <cstring>

#include "engine/runtime/device/device.h"
#include "engine/runtime/error/guarded.h"

namespace torch_aclnn::host {
namespace {

constexpr char kInterfaceVersion[] = TORCH_ACLNN_INTERFACE_VERSION;

// Documented attributes of aclGetDeviceCapability.
constexpr int kAiCoreCount = 0;
constexpr int kVectorCoreCount = 1;
constexpr int kL2Size = 2;

// What aclsysGetCANNVersion fills in begins with the version; the caller's object goes on, for parts of it that stay as they are.
struct PackageVersion {
    char version[sizeof kInterfaceVersion];
};

}  // namespace
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" const char* aclrtGetSocName(void) {
    return config().soc_name.c_str();
}

extern "C" TORCH_ACLNN_HOST_API aclError aclsysGetCANNVersion(int, PackageVersion* version) {
    return guarded(__func__, [&] {
        require_pointer("version", version);
        std::memcpy(version->version, kInterfaceVersion, sizeof kInterfaceVersion);
    });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclsysGetVersionStr(char* packageName, char* version) {
    return guarded(__func__, [&] {
        require_pointer("packageName", packageName);
        require_pointer("version", version);
        std::memcpy(version, kInterfaceVersion, sizeof kInterfaceVersion);
    });
}

// The engine's cores are its threads.
extern "C" TORCH_ACLNN_HOST_API aclError aclGetDeviceCapability(uint32_t deviceId, int deviceInfo, int64_t* value) {
    return guarded(__func__, [&] {
        require_pointer("value", value);
        (void)find_device("deviceId", deviceId);
        switch (deviceInfo) {
            case kAiCoreCount:
            case kVectorCoreCount: *value = config().thread_count; break;
            case kL2Size: *value = sysconf(_SC_LEVEL2_CACHE_SIZE); break;
            default:
                refuse(ACL_ERROR_INVALID_PARAM, "deviceInfo", "0 (AI cores), 1 (vector cores) or 2 (L2 size)", std::to_string(deviceInfo));
        }
    });
}
