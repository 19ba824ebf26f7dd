// What the operators that put tokens in the order of their experts, and back, require of their arguments.
#pragma once

#include "engine/aten/adapter/relations.h"

namespace torch_aclnn::host::aten {

inline void require_restored(bool padded, const OptNumbers& shape, const at::Tensor& restored) {
    if (padded && shape && shape->size() > 1 && at::IntArrayRef(*shape) != restored.sizes())
        refuse("restoreShape", c10::str("the shape of the tokens, ", restored.sizes()), c10::str(at::IntArrayRef(*shape)));
}

// The pair has the numbers of rows or of experts from the first one up to the second.
inline void require_rising_pair(const char* name, at::IntArrayRef range, int64_t most) {
    if (range.size() != 2 || range[0] < 0 || range[1] < range[0] || range[1] > most)
        refuse(name, c10::str("a rising pair from 0 to ", most), c10::str(range));
}

}  // namespace torch_aclnn::host::aten
