// Start and end of the use of the aclnn operators.
//
// Part of the torch_aclnn host engine: a clean-room description of the documented interface.
#pragma once

#include "acl_meta.h"

ACL_FUNC_VISIBILITY aclnnStatus aclnnInit(const char* configPath);
ACL_FUNC_VISIBILITY aclnnStatus aclnnFinalize(void);
