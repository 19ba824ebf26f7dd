// What torch_npu hands to a running profiler. None runs, so there is nobody to hand it to.

#include <chrono>
#include <functional>
#include <string_view>

#include "engine/runtime/error/guarded.h"

using namespace torch_aclnn::host;

namespace {

constexpr int32_t kRefused = -1;

int32_t refuse_report(const char* function) {
    guarded(function, [] { throw Error(ACL_ERROR_API_NOT_SUPPORT, "no profiler runs"); });
    return kRefused;
}

}  // namespace

extern "C" {

// A callback is called when profiling starts, which it never does.
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
