// Which parameters of a call are written, and which of those are read too.
#pragma once

#include "engine/runtime/diagnostics/entry_point.h"

namespace torch_aclnn::host {

struct ParameterUse {
    bool is_write;
    bool keeps;  // the tensor's old values are part of its new ones, as of an in-place sum
};

// `is_written` tells whether the handle's type is one that may be written.
ParameterUse use_of(const EntryPoint& entry_point, const char* parameter, bool is_written);

}  // namespace torch_aclnn::host
