// A call of an operator by its name, as the operator sees it. Exported from libascendcl.so as C++, for libraries that are built with it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "acl/acl.h"
#include "engine/runtime/visibility.h"

// What calls of operators by name are built of: descriptions of tensors, and their memory.
struct aclTensorDesc {
    aclDataType type;
    // The format of the memory, and the format of the shape that the operator sees.
    aclFormat format, origin_format;
    std::vector<int64_t> dims, origin_dims;
    std::string name;
    bool on_host = false;
};

struct aclDataBuffer {
    void* data;
    size_t size;
};

namespace torch_aclnn::host {

// An attribute of a call.
using Attribute = std::variant<bool, int64_t, float, std::string, aclDataType, std::vector<unsigned char>, std::vector<int64_t>,
                               std::vector<float>, std::vector<std::vector<int64_t>>>;

// The name of each alternative, in the order of the variant, for messages.
constexpr const char* kAttributeKinds[] = {"a bool",
                                           "an integer",
                                           "a float",
                                           "a string",
                                           "a data type",
                                           "a list of bools",
                                           "a list of integers",
                                           "a list of floats",
                                           "a list of lists of integers"};
static_assert(std::size(kAttributeKinds) == std::variant_size_v<Attribute>);

using Attributes = std::map<std::string, Attribute>;

// An input or output: its description and its memory, which has room for what is described. An optional input that is not given has no data
// type.
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

// An operator that can be called by its name. Each has one static object, and can be called while its library is loaded.
class TORCH_ACLNN_HOST_API NamedOperator {
   public:
    // The body runs on the stream and may throw. It may change the dims of an output to those that the result has.
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

// Whether ACL_OP_JIT_COMPILE is "enable": torch_npu then calls operators by name that have an entry point, too.
bool is_jit_compile_on();

}  // namespace torch_aclnn::host

struct aclopAttr {
    torch_aclnn::host::Attributes values;
};
