// The two forms of gelu, which come as a number.
#pragma once

#include <string>

#include "host/opapi/refusal.h"

namespace torch_aclnn::host::aten {

inline const char* gelu_mode(int64_t approximate) {
    if (approximate != 0 && approximate != 1) refuse("approximate", "0 (none) or 1 (tanh)", std::to_string(approximate));
    return approximate == 1 ? "tanh" : "none";
}

}  // namespace torch_aclnn::host::aten
