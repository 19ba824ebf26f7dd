// The function behind an implementation.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "engine/aten/implement/signature.h"

namespace torch_aclnn::host::aten {

// Never destroyed once it is called by others: streams may run it while the process ends.
class ImplementedFunction {
   public:
    explicit ImplementedFunction(const torchAclnnImplementation& given);
    ImplementedFunction(const ImplementedFunction&) = delete;

    const std::string& name() const { return name_; }
    const std::vector<SignatureParameter>& parameters() const { return parameters_; }
    bool is(torchAclnnFunction function) const { return function_ == function; }

    // Refuses once the function was stopped.
    void require_callable() const;
    // 507015 with the function's message, if it refuses.
    void call(const std::vector<ShownValue>& values) const;
    // Returns when no call is under way.
    void stop(const char* reason);

   private:
    const std::string name_;
    const std::vector<SignatureParameter> parameters_;
    const torchAclnnFunction function_;
    void* const context_;
    std::atomic<const std::string*> why_stopped_{nullptr};
};

// "aclnnX"; anything else is the name of an operator.
bool is_entry_point(const std::string& name);

}  // namespace torch_aclnn::host::aten
