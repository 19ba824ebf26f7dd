// What messages call shapes and formats.
#include "engine/opapi/handles.h"

namespace torch_aclnn::host {

std::string to_string(const Dims& dims) {
    std::string text = "{";
    for (int64_t d : dims) text += (text.size() > 1 ? ", " : "") + std::to_string(d);
    return text + "}";
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
        case 51: return "FRACTAL_NZ_C0_32";
        default: return "aclFormat(" + std::to_string(static_cast<int>(format)) + ")";
    }
}

}  // namespace torch_aclnn::host
