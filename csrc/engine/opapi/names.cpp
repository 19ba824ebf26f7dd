// What messages call shapes, data types and formats.
#include "engine/opapi/handles.h"

namespace torch_aclnn::host {

std::string to_string(const Dims& dims) {
    std::string text = "{";
    for (int64_t d : dims) text += (text.size() > 1 ? ", " : "") + std::to_string(d);
    return text + "}";
}

std::string to_string(aclDataType dtype) {
    switch (dtype) {
        case ACL_FLOAT: return "FLOAT";
        case ACL_FLOAT16: return "FLOAT16";
        case ACL_INT8: return "INT8";
        case ACL_INT32: return "INT32";
        case ACL_UINT8: return "UINT8";
        case ACL_INT16: return "INT16";
        case ACL_UINT16: return "UINT16";
        case ACL_UINT32: return "UINT32";
        case ACL_INT64: return "INT64";
        case ACL_UINT64: return "UINT64";
        case ACL_DOUBLE: return "DOUBLE";
        case ACL_BOOL: return "BOOL";
        case ACL_COMPLEX64: return "COMPLEX64";
        case ACL_COMPLEX128: return "COMPLEX128";
        case ACL_BF16: return "BF16";
        case ACL_INT4: return "INT4";
        default: return "aclDataType(" + std::to_string(static_cast<int>(dtype)) + ")";
    }
}

std::string to_string(aclFormat format) {
    switch (static_cast<int>(format)) {
        case ACL_FORMAT_UNDEFINED: return "UNDEFINED";
        case ACL_FORMAT_NCHW: return "NCHW";
        case ACL_FORMAT_NHWC: return "NHWC";
        case ACL_FORMAT_ND: return "ND";
        case ACL_FORMAT_NC1HWC0: return "NC1HWC0";
        case ACL_FORMAT_NDHWC: return "NDHWC";
        case ACL_FORMAT_FRACTAL_NZ: return "FRACTAL_NZ";
        case ACL_FORMAT_NCDHW: return "NCDHW";
        case ACL_FORMAT_NDC1HWC0: return "NDC1HWC0";
        case ACL_FORMAT_NCL: return "NCL";
        case 4: return "FRACTAL_Z";
        case 33: return "FRACTAL_Z_3D";
        default: return "aclFormat(" + std::to_string(static_cast<int>(format)) + ")";
    }
}

}  // namespace torch_aclnn::host
