// The one exception of the engine. Checks throw it, guarded() turns it into a code and a message at the C interface, and a stream carries
// that of a task to the next synchronisation.
#pragma once

#include <stdexcept>
#include <string>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "engine/runtime/visibility.h"

namespace torch_aclnn::host {

// A documented code, of aclError or of aclnnStatus, and a message without the name of the function: that is put in front at the interface.
class TORCH_ACLNN_HOST_API Error : public std::runtime_error {
   public:
    // `function` is the C function or the task that failed, if that is not the function which reports the error. It is not copied.
    Error(int code, const std::string& message, const char* function = nullptr)
        : std::runtime_error(message), code_(code), function_(function) {}
    // `last_error` is what aclrtPeekAtLastError tells of the device, beside the code that the function returns.
    static Error with_last_error(int code, const std::string& message, int last_error) {
        Error error(code, message);
        error.last_error_ = last_error;
        return error;
    }

    int code() const noexcept { return code_; }
    const char* function() const noexcept { return function_; }
    int last_error() const noexcept { return last_error_; }

   private:
    int code_;
    const char* function_;
    int last_error_ = 0;
};

// Throws the code with the message "<parameter>: expected <expected>, got <got>".
[[noreturn]] TORCH_ACLNN_HOST_API void refuse(int code, const std::string& parameter, const std::string& expected, const std::string& got);

// Throws 161002, for an argument of an operator; and 161001 for a null.
[[noreturn]] inline void refuse(const std::string& parameter, const std::string& expected, const std::string& got) {
    refuse(ACLNN_ERR_PARAM_INVALID, parameter, expected, got);
}
[[noreturn]] inline void refuse_null(const std::string& parameter, const std::string& expected = "a value") {
    refuse(ACLNN_ERR_PARAM_NULLPTR, parameter, expected, "null");
}

}  // namespace torch_aclnn::host
