// What can be asked and set without a communicator.

#include "engine/hccl/guarded_hccl.h"
#include "hccl/hccl.h"

using namespace torch_aclnn::host;

// Any collective of the engine is deterministic. torch_npu sets this while it starts.
extern "C" HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue) {
    return hccl_guarded(__func__, [&] {
        if (config != HCCL_DETERMINISTIC)
            refuse(HCCL_E_NOT_SUPPORT, "config", "0 (HCCL_DETERMINISTIC)", std::to_string(static_cast<int>(config)));
    });
}

extern "C" uint32_t HcclGetCommConfigCapability(void) {
    return HCCL_COMM_CONFIG_EXEC_TIMEOUT + 1;
}

extern "C" const char* HcclGetErrorString(HcclResult code) {
    switch (code) {
        case HCCL_SUCCESS: return "no error";
        case HCCL_E_PARA: return "wrong parameter";
        case HCCL_E_PTR: return "null pointer";
        case HCCL_E_MEMORY: return "out of memory";
        case HCCL_E_INTERNAL: return "internal error";
        case HCCL_E_NOT_SUPPORT: return "not supported";
        case HCCL_E_NOT_FOUND: return "not found";
        case HCCL_E_UNAVAIL: return "not available";
        case HCCL_E_SYSCALL: return "a call of the system failed";
        case HCCL_E_TIMEOUT: return "timeout";
        case HCCL_E_TCP_CONNECT: return "no connection";
        case HCCL_E_TCP_TRANSFER: return "a transfer failed";
        case HCCL_E_RUNTIME: return "a call of the runtime failed";
        case HCCL_E_REMOTE: return "another rank failed";
    }
    return "unknown error";
}
