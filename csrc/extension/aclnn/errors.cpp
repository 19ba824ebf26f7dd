// What a status code means, and the exception that says so.
#include "extension/aclnn/launch.h"

#include "include/aclnn/acl_meta.h"

namespace torch_aclnn {

constexpr Status kFirstInner = 561000, kLastInner = 561118;  // ACLNN_ERR_INNER_...

static const char* meaning(Status status) {
    switch (status) {
        case ACLNN_ERR_PARAM_NULLPTR: return "ACLNN_ERR_PARAM_NULLPTR: a required argument is null";
        case ACLNN_ERR_PARAM_INVALID: return "ACLNN_ERR_PARAM_INVALID: an argument is outside the contract";
        case ACLNN_ERR_RUNTIME_ERROR: return "ACLNN_ERR_RUNTIME_ERROR: the runtime refused";
        case ACLNN_ERR_INNER: return "ACLNN_ERR_INNER: an internal failure of the operator library";
        case ACLNN_ERR_INNER_INFERSHAPE_ERROR: return "ACLNN_ERR_INNER_INFERSHAPE_ERROR: the library could not infer the output's shape";
        case ACLNN_ERR_INNER_TILING_ERROR: return "ACLNN_ERR_INNER_TILING_ERROR: the library could not divide the work for this SoC";
        case ACLNN_ERR_INNER_FIND_KERNEL_ERROR:
            return "ACLNN_ERR_INNER_FIND_KERNEL_ERROR: there is no kernel for this SoC; is CANN's package of kernels (ops) for it "
                   "installed?";
        case ACLNN_ERR_INNER_OPP_PATH_NOT_FOUND:
            return "ACLNN_ERR_INNER_OPP_PATH_NOT_FOUND: no operator package is found; has CANN's set_env.sh set ASCEND_OPP_PATH?";
        case ACLNN_ERR_INNER_CREATE_EXECUTOR: return "ACLNN_ERR_INNER_CREATE_EXECUTOR: the operator library could not make an executor";
        case ACLNN_ERR_INNER_NULLPTR: return "ACLNN_ERR_INNER_NULLPTR: an internal failure of the operator library";
        default:
            return kFirstInner < status && status <= kLastInner ? "an internal failure of the operator library"
                                                                : "see the list of aclnn return codes";
    }
}

static std::string recent_error_message() {
    using GetMessage = const char* (*)();
    static const auto get = reinterpret_cast<GetMessage>(find_in_runtime("aclGetRecentErrMsg"));
    const char* message = get == nullptr ? nullptr : get();
    return message == nullptr || *message == '\0' ? "the library gave no explanation" : message;
}

// The words by which torch_npu knows CANN's errors of allocations.
static bool is_out_of_memory(const std::string& message) {
    return message.find("EL0004") != std::string::npos || message.find("Failed to allocate") != std::string::npos;
}

std::string describe_failure(const std::string& entry_point, Status status) {
    return c10::str(entry_point, " failed with ", status, " (", meaning(status), ")");
}

void check_status(const std::string& entry_point, Status status) {
    if (C10_LIKELY(status == 0)) return;
    const std::string text = describe_failure(entry_point, status) + ": " + recent_error_message();
    TORCH_CHECK_WITH(OutOfMemoryError, !is_out_of_memory(text), text);
    TORCH_CHECK(false, text);
}

void rethrow_out_of_memory(const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    TORCH_CHECK_WITH(OutOfMemoryError, !is_out_of_memory(text), text);
}

}  // namespace torch_aclnn
