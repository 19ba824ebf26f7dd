// Entry header of the Ascend C interface.
//
// Part of the torch_aclnn host engine: a clean-room description of the documented interface.
#pragma once

#include "acl_base.h"
#include "acl_mdl.h"
#include "acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Starts the process's use of the interface; configPath may be null.
ACL_FUNC_VISIBILITY aclError aclInit(const char* configPath);

/// Ends it. Device memory that is still allocated stays readable until the process exits.
ACL_FUNC_VISIBILITY aclError aclFinalize(void);

#ifdef __cplusplus
}
#endif
