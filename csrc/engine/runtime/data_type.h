// Data types: their size in memory, and what messages call them.
#pragma once

#include <cstdint>
#include <string>

#include "acl/acl_base.h"
#include "engine/runtime/visibility.h"

namespace torch_aclnn::host {

// Returns the bits of an element in memory; elements of fewer than 8 bits share bytes.
constexpr int64_t bits_of(aclDataType dtype) {
    switch (dtype) {
        case ACL_UINT1: return 1;
        case ACL_INT4:
        case ACL_FLOAT4_E2M1:
        case ACL_FLOAT4_E1M2: return 4;
        case ACL_FLOAT6_E3M2:
        case ACL_FLOAT6_E2M3: return 6;
        case ACL_INT8:
        case ACL_UINT8:
        case ACL_BOOL:
        case ACL_HIFLOAT8:
        case ACL_FLOAT8_E5M2:
        case ACL_FLOAT8_E4M3FN:
        case ACL_FLOAT8_E8M0: return 8;
        case ACL_FLOAT16:
        case ACL_BF16:
        case ACL_INT16:
        case ACL_UINT16: return 16;
        case ACL_FLOAT:
        case ACL_INT32:
        case ACL_UINT32: return 32;
        case ACL_INT64:
        case ACL_UINT64:
        case ACL_DOUBLE:
        case ACL_COMPLEX64: return 64;
        case ACL_COMPLEX128: return 128;
        default: return 0;
    }
}

TORCH_ACLNN_HOST_API std::string to_string(aclDataType dtype);  // "FLOAT16"

}  // namespace torch_aclnn::host
