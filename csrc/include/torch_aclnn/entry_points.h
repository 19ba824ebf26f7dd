// What libaclnn_math.so implements, for tests and tools. This is the engine's own and not part of CANN's interface.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct torchAclnnParameter {
    const char* kind;  // as csrc/host/aten writes it: "In", "OptOut", "Ints", "Double", "CubeMathType", ...
    const char* name;  // as in CANN's documents and in the error messages
    int nullable;      // 1 where a null pointer means "not given"
} torchAclnnParameter;

typedef struct torchAclnnEntryPoint {
    const char* name;
    uint64_t dataTypes;                     // bit d is set where the first tensor may be of aclDataType d
    const torchAclnnParameter* parameters;  // of the first phase, without workspaceSize and executor
    size_t parameterCount;
    const struct torchAclnnEntryPoint* next;  // null at the end
} torchAclnnEntryPoint;

// The first of a list of all entry points of the library, in no particular order. All of it lives as long as the library is loaded.
__attribute__((visibility("default"))) const torchAclnnEntryPoint* torchAclnnHostEntryPoints(void);

#ifdef __cplusplus
}
#endif
