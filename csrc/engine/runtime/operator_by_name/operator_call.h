// A call of an operator by its name, as the operator sees it. Exported from libascendcl.so as C++, for libraries that are built with it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/runtime/operator_by_name/attributes.h"
#include "engine/runtime/operator_by_name/tensor_desc.h"
#include "engine/runtime/visibility.h"

namespace torch_aclnn::host {

// An input or output: its description and its memory, which has room for what is described. An optional input that is not given has no
// data type.
struct CallTensor : aclTensorDesc {
    bool is_given() const { return type != ACL_DT_UNDEFINED; }
    // Memory of the host is copied when the call is made: it is the caller's again after that.
    void* memory() { return on_host ? host_copy.data() : data; }

    void* data = nullptr;
    size_t bytes = 0;
    std::vector<unsigned char> host_copy;
};

struct OperatorCall {
    std::vector<CallTensor> inputs, outputs;
    Attributes attributes;
};

// An operator that can be called by its name. Make one static object for each: it can be called while its library is loaded.
class TORCH_ACLNN_HOST_API NamedOperator {
   public:
    // Runs on the stream and may throw. It may change the dims of an output to those that the result has.
    using Body = std::function<void(OperatorCall& call)>;

    NamedOperator(const char* name, Body body);
    NamedOperator(const NamedOperator&) = delete;
    ~NamedOperator();

    const char* name() const { return name_; }
    void run(OperatorCall& call) const { body_(call); }

    static const NamedOperator* find(const std::string& name);

   private:
    const char* const name_;
    const Body body_;
};

// Whether ACL_OP_JIT_COMPILE is "enable": then torch_npu calls operators by name that have an entry point, too.
bool is_jit_compile_on();

}  // namespace torch_aclnn::host
