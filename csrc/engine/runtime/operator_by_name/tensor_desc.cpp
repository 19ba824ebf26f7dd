// Descriptions of tensors for the operator compiler's interface. torch_npu builds such a call for an operator without an aclnn
// entry point; the call itself is refused (operator_call.cpp), so this is only what building and naming it takes.

#include <vector>

#include "engine/runtime/error/guarded.h"

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

std::vector<int64_t> read_dims(int numDims, const int64_t* dims) {
    if (numDims < 0) refuse(ACL_ERROR_INVALID_PARAM, "numDims", "at least 0", std::to_string(numDims));
    if (numDims > 0) require_pointer("dims", dims);
    return std::vector<int64_t>(dims, dims + numDims);
}

}  // namespace

extern "C" TORCH_ACLNN_HOST_API aclTensorDesc* aclCreateTensorDesc(aclDataType dataType, int numDims, const int64_t* dims,
                                                                   aclFormat format) {
    aclTensorDesc* desc = nullptr;
    guarded(__func__, [&] { desc = new aclTensorDesc{dataType, format, read_dims(numDims, dims), ""}; });
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

// Where a tensor lies makes no difference: all memory is the machine's.
extern "C" TORCH_ACLNN_HOST_API aclError aclSetTensorPlaceMent(aclTensorDesc* desc, int) {
    return guarded(__func__, [&] { require_pointer("desc", desc); });
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
