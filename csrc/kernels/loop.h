// Brings the dimensions of an element-wise job into the order and number that suit its loop.
#pragma once

#include <initializer_list>

#include "kernels/jobs.h"

namespace torch_aclnn::kernels {

// Makes dimension d the last one, in the loop and in all strides.
void move_to_end(Loop& loop, std::initializer_list<int64_t*> strides, int d);

// Drops dimensions of size 1 and merges neighbours that all strides pass through as one.
void simplify(Loop& loop, std::initializer_list<int64_t*> strides);

int64_t element_count(const Loop& loop);

}  // namespace torch_aclnn::kernels
