// Descriptions of tensors for calls of operators by name.

#include "engine/runtime/operator_by_name/operator_call.h"

#include "engine/runtime/error/guarded.h"

using namespace torch_aclnn::host;

static std::vector<int64_t> read_dims(int numDims, const int64_t* dims) {
    if (numDims < 0) refuse(ACL_ERROR_INVALID_PARAM, "numDims", "at least 0", std::to_string(numDims));
    if (numDims > 0) require_pointer("dims", dims);
    return std::vector<int64_t>(dims, dims + numDims);
}

extern "C" TORCH_ACLNN_HOST_API aclTensorDesc* aclCreateTensorDesc(aclDataType dataType, int numDims, const int64_t* dims,
                                                                   aclFormat format) {
    aclTensorDesc* desc = nullptr;
    guarded(__func__, [&] {
        const std::vector<int64_t> sizes = read_dims(numDims, dims);
        desc = new aclTensorDesc{dataType, format, format, sizes, sizes, ""};
    });
    return desc;
}

extern "C" TORCH_ACLNN_HOST_API void aclDestroyTensorDesc(const aclTensorDesc* desc) {
    delete desc;
}

extern "C" TORCH_ACLNN_HOST_API void aclSetTensorDescName(aclTensorDesc* desc, const char* name) {
    guarded(__func__, [&] {
        require_pointer("desc", desc);
        desc->name = name != nullptr ? name : "";
    });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclSetTensorFormat(aclTensorDesc* desc, aclFormat format) {
    return guarded(__func__, [&] {
        require_pointer("desc", desc);
        desc->format = format;
    });
}

extern "C" TORCH_ACLNN_HOST_API aclError aclSetTensorShape(aclTensorDesc* desc, int numDims, const int64_t* dims) {
    return guarded(__func__, [&] {
        require_pointer("desc", desc);
        desc->dims = read_dims(numDims, dims);
    });
}

// 0 is the device's memory; 1 and 2 are the host's, for inputs whose values the compiler would use.
extern "C" TORCH_ACLNN_HOST_API aclError aclSetTensorPlaceMent(aclTensorDesc* desc, aclMemType memType) {
    return guarded(__func__, [&] {
        require_pointer("desc", desc);
        if (memType < 0 || memType > 2) refuse(ACL_ERROR_INVALID_PARAM, "memType", "0 (device), 1 or 2 (host)", std::to_string(memType));
        desc->on_host = memType != 0;
    });
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
    return guarded(__func__, [&] {
        require_pointer("desc", desc);
        require_pointer("dimSize", dimSize);
        if (index >= desc->dims.size())
            refuse(ACL_ERROR_INVALID_PARAM, "index", text("less than ", desc->dims.size()), std::to_string(index));
        *dimSize = desc->dims[index];
    });
}

// A null buffer of size 0 stands for a tensor without elements.
extern "C" TORCH_ACLNN_HOST_API aclDataBuffer* aclCreateDataBuffer(void* data, size_t size) {
    aclDataBuffer* buffer = nullptr;
    guarded(__func__, [&] { buffer = new aclDataBuffer{data, size}; });
    return buffer;
}

extern "C" TORCH_ACLNN_HOST_API aclError aclDestroyDataBuffer(const aclDataBuffer* dataBuffer) {
    return guarded(__func__, [&] {
        require_pointer("dataBuffer", dataBuffer);
        delete dataBuffer;
    });
}
