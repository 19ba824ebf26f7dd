// The chips whose name the engine may present, and what their products differ in.
#pragma once

#include <optional>

#include "engine/runtime/config/config.h"

namespace torch_aclnn::host {

// What depends on the product in every entry point.
struct ProductTraits {
    Product product;
    const char* name;            // the name that messages use
    bool has_bf16;               // pages list BF16 where they list FLOAT and FLOAT16
    bool cube_takes_float32;     // whether operators on the matrix unit take FLOAT without a conversion to FLOAT16
    bool has_overflow_register;  // whether its arithmetic has no infinities (see stream/overflow.h)
};
TORCH_ACLNN_HOST_API const ProductTraits& traits_of(Product product);

// Returns the product of the chip; nothing if the name is not one of known_socs().
std::optional<Product> find_product(const std::string& soc_name);

// Returns the names, for a message: "one of A, B, C"; or, for a chip that is no longer presented, the name to take instead.
std::string known_socs(const std::string& instead_of);

}  // namespace torch_aclnn::host
