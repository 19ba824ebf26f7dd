#pragma once

// Marks what a library of the engine exports; everything else is hidden.
#define TORCH_ACLNN_HOST_API __attribute__((visibility("default")))
