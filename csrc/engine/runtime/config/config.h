// The engine's settings, for the runtime's own use; engine.h has the public part.
#pragma once

#include "engine/runtime/engine.h"

namespace torch_aclnn::host {

// 100000 if a setting could not be understood, with the first that was not.
void require_valid_config();

}  // namespace torch_aclnn::host
