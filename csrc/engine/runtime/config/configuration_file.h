// The file that aclInit is given.
#pragma once

#include "engine/runtime/engine.h"

namespace torch_aclnn::host {

// Takes over the default device, if the file names one. A null or empty path is no file; an unreadable file is refused.
aclError apply_configuration(const char* function, const char* path);

}  // namespace torch_aclnn::host
