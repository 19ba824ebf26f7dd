// Dry runs (TORCH_ACLNN_HOST_COMPUTE=0), for tests and tools. This is the engine's own and not part of CANN's interface.
#pragma once

#include "acl/acl_base.h"

// Returns 1 in a dry run, else 0. In libascendcl.so.
ACL_FUNC_VISIBILITY int torchAclnnHostIsDryRun(void);

// Makes values of device memory unknown, once the work that writes them earlier has been launched. In libascendcl.so.
ACL_FUNC_VISIBILITY void torchAclnnHostForgetValues(const void* devPtr, size_t bytes);

// With 0, the trace that TORCH_ACLNN_HOST_TRACE asked for has no lines from here on; with 1, it has some again. In libascendcl.so.
ACL_FUNC_VISIBILITY void torchAclnnHostResumeTrace(int resume);

// Reads by the host of values that a dry run does not know, from one place.
typedef struct torchAclnnValueRead {
    size_t size;        // bytes of this record that the engine has filled; later versions add fields at the end
    const char* stack;  // the reading thread's, as Python prints it, the innermost call first; empty for a thread without Python
    uint64_t count;     // the number of copies to the host
    uint64_t bytes;
} torchAclnnValueRead;

// Writes up to `capacity` records of `recordSize` bytes, which is the caller's sizeof(torchAclnnValueRead), and returns how many there are.
// A null `valueReads` asks for their number alone. The texts live as long as the process. In libascendcl.so.
ACL_FUNC_VISIBILITY size_t torchAclnnHostValueReads(torchAclnnValueRead* valueReads, size_t capacity, size_t recordSize);
