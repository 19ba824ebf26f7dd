#include "extension/aclnn/errors.h"

#include <c10/util/Exception.h>

#include "include/aclnn/acl_meta.h"

namespace torch_aclnn {
namespace {

const char* meaning(Status status) {
    switch (status) {
        case ACLNN_ERR_PARAM_NULLPTR: return "ACLNN_ERR_PARAM_NULLPTR: a required argument is null";
        case ACLNN_ERR_PARAM_INVALID: return "ACLNN_ERR_PARAM_INVALID: an argument is outside the contract";
        case ACLNN_ERR_RUNTIME_ERROR: return "ACLNN_ERR_RUNTIME_ERROR: the runtime refused";
        case ACLNN_ERR_INNER: return "ACLNN_ERR_INNER: an internal failure of the operator library";
        case ACLNN_ERR_INNER_CREATE_EXECUTOR: return "ACLNN_ERR_INNER_CREATE_EXECUTOR: the operator library could not make an executor";
        case ACLNN_ERR_INNER_NULLPTR: return "ACLNN_ERR_INNER_NULLPTR: an internal failure of the operator library";
        default: return "see the list of aclnn return codes";
    }
}

std::string recent_error_message() {
    using GetMessage = const char* (*)();
    static const auto get = reinterpret_cast<GetMessage>(find_in_runtime("aclGetRecentErrMsg"));
    const char* message = get == nullptr ? nullptr : get();
    return message == nullptr || *message == '\0' ? "the library gave no explanation" : message;
}

}  // namespace

std::string describe_failure(const std::string& entry_point, Status status) {
    return c10::str(entry_point, " failed with ", status, " (", meaning(status), "): ", recent_error_message());
}

void check_status(const std::string& entry_point, Status status) {
    if (C10_UNLIKELY(status != 0)) TORCH_CHECK(false, describe_failure(entry_point, status));
}

}  // namespace torch_aclnn
