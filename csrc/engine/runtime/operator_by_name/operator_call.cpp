// Calls of operators by name, which CANN compiles at run time. The engine has no compiler: it takes the attributes, so that the
// call can be built, and refuses the work with the operator's name.

#include <memory>
#include <vector>

#include "engine/runtime/diagnostics/coverage.h"
#include "engine/runtime/error/call.h"

using namespace torch_aclnn::host;

// The names of the attributes. Nothing can read their values, so they are not kept.
struct aclopAttr {
    std::vector<std::string> names;
};

namespace {

aclError set_attribute(const char* function, aclopAttr* attr, const char* attrName) {
    return guarded(function, [&](const char*) -> aclError {
        if (attr == nullptr) return fail_null(function, "attr");
        if (attrName == nullptr) return fail_null(function, "attrName");
        attr->names.emplace_back(attrName);
        return ACL_SUCCESS;
    });
}

std::string refusal(const char* function, const char* opType, const aclopAttr* attr) {
    std::string attributes;
    if (attr != nullptr) {
        for (const std::string& name : attr->names) attributes += (attributes.empty() ? "" : ", ") + name;
    }
    return text(function, ": operator ", opType, " has no entry point in the torch_aclnn host engine and cannot be compiled for it",
                attributes.empty() ? "" : "; its attributes were ", attributes);
}

class RefusedOperator final : public Task {
   public:
    RefusedOperator(const char* function, std::string sentence) : function_(function), sentence_(std::move(sentence)) {}

    const char* name() const override { return function_; }
    void run() override { throw TaskError(ACL_ERROR_API_NOT_SUPPORT, sentence_); }
    void finish() noexcept override { delete this; }

   private:
    const char* function_;
    std::string sentence_;
};

// The refusal goes to the stream, like the failure of any work, and is told at the next synchronisation. A refusal of the call itself would
// end torch_npu's task queue: it raises once and from then on drops all work in silence.
aclError refuse_operator(const char* function, const char* opType, const aclopAttr* attr, aclrtStream stream) {
    return guarded(function, [&](const char*) -> aclError {
        if (opType == nullptr) return fail_null(function, "opType");
        std::string sentence = refusal(function, opType, attr);
        if (tracing()) trace(sentence);
        if (auto* const calls = coverage_counter(CoverageKind::refused_operator, opType)) calls->fetch_add(1, std::memory_order_relaxed);
        auto refused = std::make_unique<RefusedOperator>(function, std::move(sentence));
        const aclError status = enqueue(stream, *refused);
        if (status == ACL_SUCCESS) refused.release();
        return status;
    });
}

}  // namespace

extern "C" {

TORCH_ACLNN_HOST_API aclopAttr* aclopCreateAttr(void) {
    aclopAttr* attr = nullptr;
    guarded(__func__, [&](const char*) -> aclError {
        attr = new aclopAttr;
        return ACL_SUCCESS;
    });
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
    return refuse_operator(__func__, opType, attr, stream);
}

TORCH_ACLNN_HOST_API aclError aclopCompileAndExecuteV2(const char* opType, int, void*, void*, int, void*, void*, aclopAttr* attr, int, int,
                                                       const char*, aclrtStream stream) {
    return refuse_operator(__func__, opType, attr, stream);
}

}  // extern "C"
