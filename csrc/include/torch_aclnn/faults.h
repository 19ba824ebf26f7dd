// Faults on purpose, for tests of code that recovers from failures. This is the engine's own and not part of CANN's interface.
#pragma once

#include "acl/acl_base.h"

// Takes the place of the faults that TORCH_ACLNN_HOST_FAULT or an earlier call asked for, in the same grammar
// (docs/finding_errors.md#fault-injection), and counts from 0 again. Null or an empty text asks for none; streams that died and devices
// that were lost are then usable again. 100000, and nothing changes, for a text that cannot be understood. In libascendcl.so.
ACL_FUNC_VISIBILITY aclError torchAclnnHostSetFaults(const char* faults);

// Sets what the calls that fail say besides their code, until faults are set anew: the text of aclGetRecentErrMsg, and the code of
// aclrtPeekAtLastError, by which programs tell the kind of a device's failure. Null and 0 stand for the fault's own.
ACL_FUNC_VISIBILITY aclError torchAclnnHostSetFaultError(const char* message, int lastError);

// Returns how many faults have happened since the faults were set.
ACL_FUNC_VISIBILITY uint64_t torchAclnnHostInjectedFaults(void);
