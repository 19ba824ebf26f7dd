// What the elements of inputs are.
#pragma once

#include "entry_points.h"

namespace fuzz {

// Writes the n-th element of the memory of an input: a small number, rarely infinite or NaN. An unpooling's index lies in the plane,
// rarely outside. No element has all bits set.
void write_value(const Call& call, size_t tensor, size_t n, uint8_t* to);

}  // namespace fuzz
