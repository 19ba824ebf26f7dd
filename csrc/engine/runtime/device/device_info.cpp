// The hardware that the engine presents: the chip's name, the interface's version, the size of the machine.

#include <unistd.h>

#include <cstring>

#include "engine/runtime/config/config.h"
#include "engine/runtime/device/device.h"
#include "engine/runtime/error/guarded.h"

using namespace torch_aclnn::host;

extern "C" const char* aclrtGetSocName(void) {
    return config().soc_name.c_str();
}

// A function of the driver, which programs look for in libascend_hal.
extern "C" TORCH_ACLNN_HOST_API int drvGetDevNum(uint32_t* count) {
    return write_result(__func__, "num_dev", count, [&] { return device_count(); });
}

extern "C" aclError aclrtGetRunMode(aclrtRunMode* runMode) {
    return write_result(__func__, "runMode", runMode, [&] { return ACL_HOST; });
}

extern "C" aclError aclrtGetVersion(int32_t* majorVersion, int32_t* minorVersion, int32_t* patchVersion) {
    return guarded(__func__, [&] {
        require_pointer("majorVersion", majorVersion);
        require_pointer("minorVersion", minorVersion);
        require_pointer("patchVersion", patchVersion);
        *majorVersion = 1;
        *minorVersion = *patchVersion = 0;
    });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclsysGetCANNVersion(aclCANNPackageName, aclCANNPackageVersion* version) {
    return guarded(__func__, [&] {
        require_pointer("version", version);
        std::strcpy(version->version, presented_cann());
    });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclsysGetVersionStr(char* packageName, char* version) {
    return guarded(__func__, [&] {
        require_pointer("packageName", packageName);
        require_pointer("version", version);
        std::strcpy(version, presented_cann());
    });
}

// The engine's cores are its threads.
extern "C" TORCH_ACLNN_HOST_API aclError aclGetDeviceCapability(uint32_t deviceId, aclDeviceInfo deviceInfo, int64_t* value) {
    return guarded(__func__, [&] {
        require_pointer("value", value);
        (void)find_device("deviceId", deviceId);
        switch (deviceInfo) {
            case ACL_DEVICE_INFO_AI_CORE_NUM:
            case ACL_DEVICE_INFO_VECTOR_CORE_NUM: *value = config().thread_count; break;
            case ACL_DEVICE_INFO_L2_SIZE: *value = sysconf(_SC_LEVEL2_CACHE_SIZE); break;
            default:
                refuse(ACL_ERROR_INVALID_PARAM, "deviceInfo", "0 (AI cores), 1 (vector cores) or 2 (L2 size)", std::to_string(deviceInfo));
        }
    });
}
