// Calls of operators by name, which CANN compiles at run time. The engine has no compiler: it takes the attributes, so that the
// call can be built, and fails the work with the operator's name.

#include <memory>
#include <vector>

#include "engine/runtime/diagnostics/coverage.h"
#include "engine/runtime/error/guarded.h"

using namespace torch_aclnn::host;

// The names of the attributes. Nothing can read their values, so they are not kept.
struct aclopAttr {
    std::vector<std::string> names;
};

namespace {

aclError set_attribute(const char* function, aclopAttr* attr, const char* attrName) {
    return guarded(function, [&] {
        require_pointer("attr", attr);
        require_pointer("attrName", attrName);
        attr->names.emplace_back(attrName);
    });
}

std::string describe_call(const char* opType, const aclopAttr* attr) {
    std::string attributes;
    if (attr != nullptr)
        for (const std::string& name : attr->names) attributes += (attributes.empty() ? "; its attributes were " : ", ") + name;
    return text("operator ", opType, " has no entry point in the torch_aclnn host engine and cannot be compiled for it", attributes);
}

// Fails when it runs: the error goes to the stream, like the failure of any work, and is reported at the next synchronisation. An error of
// the call itself would end torch_npu's task queue: it raises once and from then on drops all work in silence.
class MissingOperator final : public Task {
   public:
    MissingOperator(const char* function, std::string message) : function_(function), message_(std::move(message)) {}

    const char* name() const override { return function_; }
    void run() override { throw Error(ACL_ERROR_API_NOT_SUPPORT, message_); }
    void finish() noexcept override { delete this; }

   private:
    const char* function_;
    std::string message_;
};

aclError enqueue_missing_operator(const char* function, const char* opType, const aclopAttr* attr, aclrtStream stream) {
    return guarded(function, [&] {
        require_pointer("opType", opType);
        std::string message = describe_call(opType, attr);
        if (auto* const calls = coverage_counter(CoverageKind::refused_operator, opType)) calls->fetch_add(1, std::memory_order_relaxed);
        auto missing = std::make_unique<MissingOperator>(function, std::move(message));
        enqueue(stream, *missing);
        (void)missing.release();  // the stream deletes it
    });
}

}  // namespace

extern "C" {

TORCH_ACLNN_HOST_API aclopAttr* aclopCreateAttr(void) {
    aclopAttr* attr = nullptr;
    guarded(__func__, [&] { attr = new aclopAttr; });
    return attr;
}

TORCH_ACLNN_HOST_API void aclopDestroyAttr(const aclopAttr* attr) {
    delete attr;
}

TORCH_ACLNN_HOST_API aclError aclopSetAttrBool(aclopAttr* attr, const char* attrName, uint8_t) {
    return set_attribute(__func__, attr, attrName);
}

TORCH_ACLNN_HOST_API aclError aclopSetAttrInt(aclopAttr* attr, const char* attrName, int64_t) {
    return set_attribute(__func__, attr, attrName);
}

TORCH_ACLNN_HOST_API aclError aclopSetAttrFloat(aclopAttr* attr, const char* attrName, float) {
    return set_attribute(__func__, attr, attrName);
}

TORCH_ACLNN_HOST_API aclError aclopSetAttrString(aclopAttr* attr, const char* attrName, const char*) {
    return set_attribute(__func__, attr, attrName);
}

TORCH_ACLNN_HOST_API aclError aclopSetAttrDataType(aclopAttr* attr, const char* attrName, aclDataType) {
    return set_attribute(__func__, attr, attrName);
}

TORCH_ACLNN_HOST_API aclError aclopSetAttrListBool(aclopAttr* attr, const char* attrName, int, const uint8_t*) {
    return set_attribute(__func__, attr, attrName);
}

TORCH_ACLNN_HOST_API aclError aclopSetAttrListInt(aclopAttr* attr, const char* attrName, int, const int64_t*) {
    return set_attribute(__func__, attr, attrName);
}

TORCH_ACLNN_HOST_API aclError aclopSetAttrListFloat(aclopAttr* attr, const char* attrName, int, const float*) {
    return set_attribute(__func__, attr, attrName);
}

TORCH_ACLNN_HOST_API aclError aclopSetAttrListListInt(aclopAttr* attr, const char* attrName, int, const int*, const int64_t* const*) {
    return set_attribute(__func__, attr, attrName);
}

// Inputs and outputs come as a count, descriptions and buffers each; none of them is looked at.
TORCH_ACLNN_HOST_API aclError aclopCompileAndExecute(const char* opType, int, const void*, const void*, int, const void*, const void*,
                                                     const aclopAttr* attr, int, int, const char*, aclrtStream stream) {
    return enqueue_missing_operator(__func__, opType, attr, stream);
}

TORCH_ACLNN_HOST_API aclError aclopCompileAndExecuteV2(const char* opType, int, void*, void*, int, void*, void*, aclopAttr* attr, int, int,
                                                       const char*, aclrtStream stream) {
    return enqueue_missing_operator(__func__, opType, attr, stream);
}

}  // extern "C"
