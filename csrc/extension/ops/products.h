// What the product in use offers, by the newest page of each entry point (docs/operators/README.md, "Products").
#pragma once

namespace torch_aclnn {

// Whether an operator of the package, such as "avg_pool2d", has an entry point there. True on a product that is not known.
bool is_offered(const char* operator_name);

// Returns true for the Ascend 910B family and later, false for the inference products and the first Ascend 910.
bool is_a2_or_later();

}  // namespace torch_aclnn
