// Descriptions of tensors for the operator compiler's interface. torch_npu builds such a call for an operator without an aclnn
// entry point; the call itself is refused (operator_call.cpp), so this is only what building and naming it takes.

#include <vector>

#include "engine/runtime/error/call.h"

using namespace torch_aclnn::host;

struct aclTensorDesc {
    aclDataType type;
    aclFormat format;
    std::vector<int64_t> dims;
    std::string name;
};

struct aclDataBuffer {
    void* data;
    size_t size;
};

namespace {

bool valid_dims(const char* function, int numDims, const int64_t* dims) {
    if (numDims >= 0 && (numDims == 0 || dims != nullptr)) return true;
    fail(ACL_ERROR_INVALID_PARAM, text(function, ": numDims must not be negative and dims not null, got ", numDims, " and ", dims));
    return false;
}

}  // namespace

extern "C" TORCH_ACLNN_HOST_API aclTensorDesc* aclCreateTensorDesc(aclDataType dataType, int numDims, const int64_t* dims,
                                                                   aclFormat format) {
    aclTensorDesc* desc = nullptr;
    guarded(__func__, [&](const char* function) -> aclError {
        if (!valid_dims(function, numDims, dims)) return ACL_ERROR_INVALID_PARAM;
        desc = new aclTensorDesc{dataType, format, std::vector<int64_t>(dims, dims + numDims), ""};
        return ACL_SUCCESS;
    });
    return desc;
}

extern "C" TORCH_ACLNN_HOST_API void aclDestroyTensorDesc(const aclTensorDesc* desc) {
    delete desc;
}

extern "C" TORCH_ACLNN_HOST_API void aclSetTensorDescName(aclTensorDesc* desc, const char* name) {
    guarded(__func__, [&](const char* function) -> aclError {
        if (desc == nullptr) return fail_null(function, "desc");
        desc->name = name != nullptr ? name : "";
        return ACL_SUCCESS;
    });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclSetTensorFormat(aclTensorDesc* desc, aclFormat format) {
    return guarded(__func__, [&](const char* function) -> aclError {
        if (desc == nullptr) return fail_null(function, "desc");
        desc->format = format;
        return ACL_SUCCESS;
    });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclSetTensorShape(aclTensorDesc* desc, int numDims, const int64_t* dims) {
    return guarded(__func__, [&](const char* function) -> aclError {
        if (desc == nullptr) return fail_null(function, "desc");
        if (!valid_dims(function, numDims, dims)) return ACL_ERROR_INVALID_PARAM;
        desc->dims.assign(dims, dims + numDims);
        return ACL_SUCCESS;
    });
}

// Where a tensor lies makes no difference: all memory is the machine's.
extern "C" TORCH_ACLNN_HOST_API aclError aclSetTensorPlaceMent(aclTensorDesc* desc, int) {
    return guarded(__func__, [&](const char* function) { return desc == nullptr ? fail_null(function, "desc") : ACL_SUCCESS; });
}

extern "C" TORCH_ACLNN_HOST_API aclDataType aclGetTensorDescType(const aclTensorDesc* desc) {
    return desc != nullptr ? desc->type : ACL_DT_UNDEFINED;
}

extern "C" TORCH_ACLNN_HOST_API aclFormat aclGetTensorDescFormat(const aclTensorDesc* desc) {
    return desc != nullptr ? desc->format : ACL_FORMAT_UNDEFINED;
}

extern "C" TORCH_ACLNN_HOST_API size_t aclGetTensorDescNumDims(const aclTensorDesc* desc) {
    return desc != nullptr ? desc->dims.size() : 0;
}

extern "C" TORCH_ACLNN_HOST_API aclError aclGetTensorDescDimV2(const aclTensorDesc* desc, size_t index, int64_t* dimSize) {
    return guarded(__func__, [&](const char* function) -> aclError {
        if (desc == nullptr) return fail_null(function, "desc");
        if (dimSize == nullptr) return fail_null(function, "dimSize");
        if (index >= desc->dims.size()) {
            return fail(ACL_ERROR_INVALID_PARAM, text(function, ": index must be less than ", desc->dims.size(), ", got ", index));
        }
        *dimSize = desc->dims[index];
        return ACL_SUCCESS;
    });
}

// A null buffer of size 0 stands for a tensor without elements.
extern "C" TORCH_ACLNN_HOST_API aclDataBuffer* aclCreateDataBuffer(void* data, size_t size) {
    aclDataBuffer* buffer = nullptr;
    guarded(__func__, [&](const char*) -> aclError {
        buffer = new aclDataBuffer{data, size};
        return ACL_SUCCESS;
    });
    return buffer;
}

extern "C" TORCH_ACLNN_HOST_API aclError aclDestroyDataBuffer(const aclDataBuffer* dataBuffer) {
    return guarded(__func__, [&](const char* function) -> aclError {
        if (dataBuffer == nullptr) return fail_null(function, "dataBuffer");
        delete dataBuffer;
        return ACL_SUCCESS;
    });
}
