// The overflow register of the products that have no infinities: an operation that makes an infinity of finite numbers, or any NaN, sets
// it, and it stays set until it is cleared. The engine computes infinities there too, as IEEE arithmetic has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "acl/acl.h"
#include "engine/runtime/visibility.h"

namespace torch_aclnn::host {

// Elements in memory, at their strides in elements.
struct Elements {
    aclDataType type;
    const void* first;
    const int64_t *sizes, *strides;
    size_t rank;
};

enum class Range { finite, infinite, nan };

// The last of them that an element has; what is not a floating-point number is finite.
TORCH_ACLNN_HOST_API Range range_of(const Elements& elements);

// True on the products that have the register.
TORCH_ACLNN_HOST_API bool has_overflow_register();
// It is the process's, as documented of A2 and A3.
TORCH_ACLNN_HOST_API bool overflow_register();
TORCH_ACLNN_HOST_API void set_overflow_register(bool value);
// After an operation, with the ranges of what it has read and of what it has written.
TORCH_ACLNN_HOST_API void note_ranges(const std::vector<Range>& read, Range written);

}  // namespace torch_aclnn::host
