// How a check says no.
#pragma once

#include <stdexcept>
#include <string>

#include "aclnn/acl_meta.h"
#include "engine/runtime/engine.h"

namespace torch_aclnn::host {

// Thrown by checks within phase 1, caught at the ABI. The sentence starts with the parameter; the entry point is put in front there.
class TORCH_ACLNN_HOST_API Refusal : public std::runtime_error {
   public:
    Refusal(aclnnStatus code, const std::string& sentence) : std::runtime_error(sentence), code_(code) {}
    aclnnStatus code() const { return code_; }

   private:
    aclnnStatus code_;
};

// 161002 in the house form: "<parameter>: expected <expected>, got <got>".
[[noreturn]] TORCH_ACLNN_HOST_API void refuse(const std::string& parameter, const std::string& expected, const std::string& got);

// Runs the body of a C function. What it throws becomes a code, and a message that starts with the function's name.
template <class Body>
aclnnStatus answer(const char* function, Body&& body, aclnnStatus code_of_other_exceptions = ACLNN_ERR_INNER) noexcept {
    try {
        body();
        return ACLNN_SUCCESS;
    } catch (const Refusal& refusal) {
        return fail(refusal.code(), std::string(function) + ": " + refusal.what());
    } catch (const std::exception& error) {
        return fail(code_of_other_exceptions, std::string(function) + ": " + error.what());
    }
}

}  // namespace torch_aclnn::host
