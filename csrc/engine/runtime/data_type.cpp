#include "engine/runtime/data_type.h"

#include "acl/acl.h"

extern "C" size_t aclDataTypeSize(aclDataType dataType) {
    const int64_t bits = torch_aclnn::host::bits_of(dataType);
    return bits % 8 == 0 ? static_cast<size_t>(bits / 8) : 0;
}

namespace torch_aclnn::host {

std::string to_string(aclDataType dtype) {
#define NAME(type) \
    case ACL_##type: return #type;
    switch (dtype) {
        NAME(FLOAT)
        NAME(FLOAT16)
        NAME(INT8)
        NAME(INT32)
        NAME(UINT8)
        NAME(INT16)
        NAME(UINT16)
        NAME(UINT32)
        NAME(INT64)
        NAME(UINT64)
        NAME(DOUBLE)
        NAME(BOOL)
        NAME(STRING)
        NAME(COMPLEX64)
        NAME(COMPLEX128)
        NAME(BF16)
        NAME(INT4)
        NAME(UINT1)
        NAME(COMPLEX32)
        NAME(HIFLOAT8)
        NAME(FLOAT8_E5M2)
        NAME(FLOAT8_E4M3FN)
        NAME(FLOAT8_E8M0)
        NAME(FLOAT6_E3M2)
        NAME(FLOAT6_E2M3)
        NAME(FLOAT4_E2M1)
        NAME(FLOAT4_E1M2)
        default: return "aclDataType(" + std::to_string(static_cast<int>(dtype)) + ")";
    }
#undef NAME
}

}  // namespace torch_aclnn::host
