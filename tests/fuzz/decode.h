// From bytes to a call: first one that its document allows, then some changes to it.
#pragma once

#include "bytes.h"
#include "entry_points.h"

namespace fuzz {

// A call that is allowed, with tensors of a few elements. usual.cpp.
Call usual_call(Bytes& bytes);

// The same with changes that may make it hostile. decode.cpp.
Call decode(Bytes& bytes);

std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& sizes);

}  // namespace fuzz
