// Functions of a program for entry points and operators that the host engine does not have. This is the engine's own and not part of CANN's
// interface. docs/missing_entry_point.md describes it; torch_aclnn/implement.hpp makes it shorter in C++.
//
// Within a major version a library that was built with one minor version works with each other; the structures do not change.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "acl/acl_base.h"

#define TORCH_ACLNN_IMPLEMENT_MAJOR 1
#define TORCH_ACLNN_IMPLEMENT_MINOR 0

#ifdef __cplusplus
extern "C" {
#endif

// A tensor in memory that the function can read, and write if the signature has it as Tensor(a!).
typedef struct torchAclnnTensor {
    void* data;  // of the first element
    const int64_t* sizes;
    const int64_t* strides;  // in elements
    int64_t rank;
    aclDataType dataType;
} torchAclnnTensor;

// An integer, a bool (0 or 1) and an aclDataType are in `integer`, and any number is in `real` and `imaginary`.
typedef struct torchAclnnNumber {
    aclDataType type;  // ACL_BOOL, ACL_INT64, ACL_DOUBLE or ACL_COMPLEX128
    int64_t integer;
    double real, imaginary;
} torchAclnnNumber;

typedef enum torchAclnnValueKind { TORCH_ACLNN_TENSORS, TORCH_ACLNN_NUMBERS, TORCH_ACLNN_DATA_TYPE, TORCH_ACLNN_TEXT } torchAclnnValueKind;

// An argument of a call, in the place that it has in the signature.
typedef struct torchAclnnValue {
    const char* name;
    torchAclnnValueKind kind;
    int isList;
    int64_t count;  // -1 for an argument that is not given; 1, or the length of a list
    const torchAclnnTensor* tensors;
    const torchAclnnNumber* numbers;
    const char* text;
} torchAclnnValue;

// Computes a call and returns 0, or refuses it and writes why into `message`, with a zero at the end, within `capacity` bytes. It may be
// called on any thread, and on several at once. What `values` leads to is there until it returns.
typedef int (*torchAclnnFunction)(void* context, const torchAclnnValue* values, int64_t count, char* message, size_t capacity);

typedef struct torchAclnnImplementation {
    const char* name;       // "aclnnX", of whose two phases the engine makes all but the result; another is the name of an operator
    const char* signature;  // "Tensor self, Scalar alpha, Tensor(a!) out"
    uint64_t dataTypes;     // bit d is set where the first tensor may be of aclDataType d; 0 for any type
    torchAclnnFunction function;
    void* context;  // for the function
    int replace;    // not 0: takes the place of what has the name
} torchAclnnImplementation;

typedef struct torchAclnnLibrary {
    uint32_t major, minor;  // TORCH_ACLNN_IMPLEMENT_MAJOR and TORCH_ACLNN_IMPLEMENT_MINOR
    size_t count;
    const torchAclnnImplementation* implementations;
} torchAclnnLibrary;

// Exported by a library that TORCH_ACLNN_HOST_LIBRARIES names; aclInit calls it once.
typedef const torchAclnnLibrary* (*torchAclnnHostLibraryFunction)(void);

// Takes in the implementations, whose texts are copied: 100000 with a message for the first that cannot be, after which those before it are
// there. In libaclnn_math.so.
__attribute__((visibility("default"))) aclError torchAclnnHostImplement(const torchAclnnLibrary* library);

// Returns when no call of the function is under way; those that come later are refused for the reason. For a function whose code is about
// to go.
__attribute__((visibility("default"))) aclError torchAclnnHostStopFunction(torchAclnnFunction function, const char* reason);

// Takes in the libraries that TORCH_ACLNN_HOST_LIBRARIES names, when it is called for the first time.
__attribute__((visibility("default"))) aclError torchAclnnHostLoadLibraries(void);

#ifdef __cplusplus
}
#endif
