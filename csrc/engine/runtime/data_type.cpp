#include "engine/runtime/data_type.h"

#include "acl/acl.h"

extern "C" size_t aclDataTypeSize(aclDataType dataType) {
    switch (dataType) {
        case ACL_INT8:
        case ACL_UINT8:
        case ACL_BOOL:
        case ACL_HIFLOAT8:
        case ACL_FLOAT8_E5M2:
        case ACL_FLOAT8_E4M3FN:
        case ACL_FLOAT8_E8M0: return 1;
        case ACL_FLOAT16:
        case ACL_BF16:
        case ACL_INT16:
        case ACL_UINT16: return 2;
        case ACL_FLOAT:
        case ACL_INT32:
        case ACL_UINT32: return 4;
        case ACL_INT64:
        case ACL_UINT64:
        case ACL_DOUBLE:
        case ACL_COMPLEX64: return 8;
        case ACL_COMPLEX128: return 16;
        default: return 0;
    }
}

namespace torch_aclnn::host {

int64_t bits_of(aclDataType dtype) {
    switch (dtype) {
        case ACL_UINT1: return 1;
        case ACL_INT4:
        case ACL_FLOAT4_E2M1:
        case ACL_FLOAT4_E1M2: return 4;
        case ACL_FLOAT6_E3M2:
        case ACL_FLOAT6_E2M3: return 6;
        default: return 8 * static_cast<int64_t>(aclDataTypeSize(dtype));
    }
}

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
