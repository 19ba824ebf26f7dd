// The chips whose name the engine may present.
#pragma once

#include <string>

#include "engine/runtime/engine.h"

namespace torch_aclnn::host {

// False if the name is not one of known_socs().
bool find_product(const std::string& soc_name, Product& product);

// The names, for a sentence: "one of A, B, C".
std::string known_socs();

}  // namespace torch_aclnn::host
