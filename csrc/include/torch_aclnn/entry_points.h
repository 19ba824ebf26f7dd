// What the host engine implements, for tests and tools. This is the engine's own and not part of CANN's interface.
#pragma once

#include "acl/acl_base.h"

typedef struct torchAclnnParameter {
    const char* kind;    // the kind in csrc/vocabulary: "In", "OptOut", "Ints", "Int in 0..2", ...
    const char* name;    // the name in CANN's documents and in error messages
    int nullable;        // 1 where a null pointer means "not given"
    uint64_t dataTypes;  // for a tensor, bit d is set if it may be of aclDataType d, whatever the others are
} torchAclnnParameter;

typedef struct torchAclnnEntryPoint {
    size_t size;         // bytes of this record that the engine has filled; later versions add fields at the end
    const char* name;    // "aclnnAvgPool2dBackward"
    const char* family;  // the family: "vision", "normalization", ...
    int refused;         // 1: the function exists, because a caller needs the symbol, and always fails
    uint64_t dataTypes;  // for tensors without data types of their own, bit d is set if they may be of aclDataType d
    uint64_t calls;      // how often it has run in this process since the last torchAclnnHostResetCalls()
    // The parameters of the first phase, without workspaceSize and executor; null and 0 where the engine has no description of them.
    const torchAclnnParameter* parameters;
    size_t parameterCount;
    size_t parameterSize;  // bytes from one parameter to the next; later versions add fields at the end of each
} torchAclnnEntryPoint;

// Writes up to `capacity` records of `recordSize` bytes, which is the caller's sizeof(torchAclnnEntryPoint), and returns how many there
// are, in no particular order: the entry points of all libraries of the engine that the process has loaded. A null `entryPoints` asks for
// their number alone. The texts live as long as the library that has the entry point. In libascendcl.so.
ACL_FUNC_VISIBILITY size_t torchAclnnHostEntryPoints(torchAclnnEntryPoint* entryPoints, size_t capacity, size_t recordSize);

// Sets `calls` of all entry points to 0.
ACL_FUNC_VISIBILITY void torchAclnnHostResetCalls(void);
