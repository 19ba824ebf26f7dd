// Which formats of a tensor the engine takes.
#pragma once

#include "aclnn/acl_meta.h"

namespace torch_aclnn::host {

// True where strides describe the memory; the chips' private layouts (NC1HWC0, FRACTAL_NZ and so on) are not public.
TORCH_ACLNN_HOST_API bool is_public(aclFormat format);

}  // namespace torch_aclnn::host
