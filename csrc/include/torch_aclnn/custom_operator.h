// The two phases of an entry point of a program's own, in a library that torch_npu finds by ASCEND_CUSTOM_OPP_PATH. This is the engine's
// own and not part of CANN's interface. docs/missing_entry_point.md describes it; torch_aclnn/custom_operator.hpp makes it shorter in C++.
//
// A library that was built with these declarations works with each later engine; they do not change.
#pragma once

#include "aclnn/acl_meta.h"

// A tensor that phase 1 is given. The name is that of the parameter, for messages and traces.
typedef struct torchAclnnArgument {
    const char* name;
    const aclTensor* tensor;
    int isWritten;
} torchAclnnArgument;

// The tensor at the time of computation, in memory that the function can read, and write if this was declared.
typedef struct torchAclnnTensor {
    void* data;  // the address of the first element
    const int64_t* sizes;
    const int64_t* strides;  // counted in elements
    int64_t rank;
    aclDataType dataType;
} torchAclnnTensor;

// Computes a call on `tensors`, in the order of the arguments, and returns 0, or refuses it and writes why into `message`, with a zero at
// the end, within `capacity` bytes. It may be called on any thread, and on several at once.
typedef int (*torchAclnnCompute)(void* context, const torchAclnnTensor* tensors, char* message, size_t capacity);

// What a handle holds, for as long as it lives: the elements of an aclIntArray (int64_t), aclFloatArray or aclBoolArray, or the value of an
// aclScalar, of which `type` says the type. Null, with a count of 0, for null and for what is none of them.
ACL_FUNC_VISIBILITY const void* torchAclnnHostContent(const void* handle, uint64_t* count, aclDataType* type);

// Returns a tensor of a list; null beyond its end, and for a list that is null or does not live.
ACL_FUNC_VISIBILITY const aclTensor* torchAclnnHostMember(const aclTensorList* list, uint64_t index);

// Phase 1: checks the tensors and makes the executor. It owns the context from now on, also if it fails, and calls `destroy` for it at the
// end, unless that is null. Names and functions must live as long as the process.
ACL_FUNC_VISIBILITY aclnnStatus torchAclnnHostFirstPhase(const char* name, const torchAclnnArgument* arguments, size_t count,
                                                         torchAclnnCompute compute, void* context, void (*destroy)(void* context),
                                                         uint64_t* workspaceSize, aclOpExecutor** executor);

// Phase 2: has the stream compute the call, and counts it.
ACL_FUNC_VISIBILITY aclnnStatus torchAclnnHostSecondPhase(const char* name, void* workspace, uint64_t workspaceSize,
                                                          aclOpExecutor* executor, aclrtStream stream);
