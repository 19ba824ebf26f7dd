// The one table of the codes that the engine returns, which docs/error_codes.md shows.
#pragma once

#include "torch_aclnn/error_codes.h"

namespace torch_aclnn::host {

// The codes that only fault injection returns by itself. The public headers have the others.
constexpr int kStreamDied = 507001;
constexpr int kDeviceLost = 507010;
constexpr int kDriverFailed = 507899;

// The row of the code, or null if the engine must not return it.
const torchAclnnErrorCode* find_code(int code) noexcept;

}  // namespace torch_aclnn::host
