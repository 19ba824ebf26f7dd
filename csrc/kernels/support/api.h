// The kernels are one library, hidden but for what is marked so.
#pragma once

#define TORCH_ACLNN_KERNELS_API __attribute__((visibility("default")))
