// The codes that the engine returns, for tests and tools. This is the engine's own and not part of CANN's interface.
#pragma once

#include "acl/acl_base.h"

typedef struct torchAclnnErrorCode {
    int code;
    const char* name;     // the name in the interface's documents
    const char* layer;    // "runtime", "operators" or "collectives"
    const char* reason;   // when the engine returns it
    const char* surface;  // the functions that return it
} torchAclnnErrorCode;

// Returns the table, and in `count` how many codes it has. No function of the engine returns any other code but 0. In libascendcl.so.
ACL_FUNC_VISIBILITY const torchAclnnErrorCode* torchAclnnHostErrorCodes(size_t* count);
