#include "extension/aclnn/errors.h"

#include <c10/util/Exception.h>

namespace torch_aclnn {
namespace {

const char* meaning(Status status) {
    switch (status) {
        case 161001: return "ACLNN_ERR_PARAM_NULLPTR: a required argument is null";
        case 161002: return "ACLNN_ERR_PARAM_INVALID: an argument is outside the contract";
        case 361001: return "ACLNN_ERR_RUNTIME_ERROR: the runtime refused";
        case 561000: return "ACLNN_ERR_INNER: an internal failure of the operator library";
        case 561101: return "ACLNN_ERR_INNER_CREATE_EXECUTOR: the operator library could not make an executor";
        case 561103: return "ACLNN_ERR_INNER_NULLPTR: an internal failure of the operator library";
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

std::string describe_failure(const char* entry_point, Status status) {
    return c10::str(entry_point, " failed with ", status, " (", meaning(status), "): ", recent_error_message());
}

void check_status(const char* entry_point, Status status) {
    if (C10_UNLIKELY(status != 0)) TORCH_CHECK(false, describe_failure(entry_point, status));
}

}  // namespace torch_aclnn
