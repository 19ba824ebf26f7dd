// The codes of aclnn for exceptions that carry none.
#pragma once

#include "engine/runtime/error/guarded.h"

namespace torch_aclnn::host {

inline constexpr FallbackCodes kAclnnCodes{ACLNN_ERR_INNER, ACLNN_ERR_INNER};
inline constexpr FallbackCodes kPhase1Codes{ACLNN_ERR_INNER_CREATE_EXECUTOR, ACLNN_ERR_INNER_CREATE_EXECUTOR};

}  // namespace torch_aclnn::host
