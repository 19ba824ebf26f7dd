// The chips whose name the engine may present.
#pragma once

#include <optional>
#include <string>

#include "engine/runtime/engine.h"

namespace torch_aclnn::host {

// The generation of the chip; nothing if the name is not one of known_socs().
std::optional<Product> find_product(const std::string& soc_name);

// The names, for a message: "one of A, B, C".
std::string known_socs();

}  // namespace torch_aclnn::host
