// The engine's settings, for the runtime's own use; engine.h has the public part.
#pragma once

#include <string>

#include "engine/runtime/engine.h"

namespace torch_aclnn::host {

// The first setting that could not be understood, as a sentence; empty if all is well. aclInit and aclrtSetDevice refuse with it.
const std::string& config_problem();

}  // namespace torch_aclnn::host
