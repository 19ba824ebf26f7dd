// What torch_npu asks of CANN's profiler, and what it hands to it while it runs. The engine's profiler never runs.

#include <chrono>
#include <cstdio>
#include <functional>
#include <string_view>

#include "engine/runtime/diagnostics/entry_point.h"
#include "engine/runtime/error/guarded.h"

using namespace torch_aclnn::host;

constexpr int32_t kRefused = -1;

static int32_t refuse_report(const char* function) {
    guarded(function, [] { throw Error(ACL_ERROR_API_NOT_SUPPORT, "no profiler runs"); });
    return kRefused;
}

static EntryPoint init_entry("aclprofInit", "runtime");

extern "C" {

// torch_npu.profiler goes on without a profiler, and does not say why.
TORCH_ACLNN_HOST_API aclError aclprofInit(const char*, size_t) {
    return guarded(__func__, [] {
        constexpr char kMessage[] =
            "the host engine measures nothing for torch_npu.profiler, whose result has no kernels; "
            "torch.profiler.profile() shows them, and so does TORCH_ACLNN_HOST_TRACE";
        std::fprintf(stderr, "torch_aclnn: %s\n", kMessage);
        throw Error(ACL_ERROR_API_NOT_SUPPORT, kMessage);
    });
}

// A callback is called when profiling starts, which never happens.
TORCH_ACLNN_HOST_API int32_t MsprofRegisterCallback(uint32_t, void*) {
    return 0;
}

TORCH_ACLNN_HOST_API int32_t MsprofReportApi(uint32_t, const void*) {
    return refuse_report(__func__);
}

TORCH_ACLNN_HOST_API int32_t MsprofReportCompactInfo(uint32_t, const void*, uint32_t) {
    return refuse_report(__func__);
}

TORCH_ACLNN_HOST_API int32_t MsprofReportAdditionalInfo(uint32_t, const void*, uint32_t) {
    return refuse_report(__func__);
}

TORCH_ACLNN_HOST_API uint64_t MsprofSysCycleTime(void) {
    return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

TORCH_ACLNN_HOST_API uint64_t MsprofGetHashId(const char* text, size_t length) {
    return text == nullptr ? 0 : std::hash<std::string_view>()(std::string_view(text, length));
}

}  // extern "C"
