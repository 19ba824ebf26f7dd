// Names of the C interface, resolved once. Nothing here knows whether CANN or the host engine answers.
//
// The types of the functions are those of the public headers in csrc/include. A file that includes torch_npu's headers includes none of
// these, because both describe the same interface.
#pragma once

#include <cstdint>
#include <string>

// The handles are opaque to the extension.
struct aclTensor;
struct aclIntArray;
struct aclScalar;
struct aclOpExecutor;

namespace torch_aclnn {

using Stream = void*;
using Status = int32_t;
using Phase2 = Status (*)(void* workspace, uint64_t workspace_size, aclOpExecutor* executor, Stream stream);

// Returns the address of a function of the operator library; throws NotImplementedError with its name if it is not there.
void* resolve_operator(const char* name);

// Returns the same, or null where it is optional.
void* find_operator(const char* name);

// Returns a function of the runtime library, or null.
void* find_in_runtime(const char* name);

// Returns an optional function of the operator library under its type, a pointer: find<SetUpMemory>("InitHugeMemThreadLocal").
template <class Function>
Function find(const char* name) {
    return reinterpret_cast<Function>(find_operator(name));
}

// Returns a function of the operator library under its declared type: resolved<decltype(aclCreateTensor)>("aclCreateTensor").
template <class Function>
Function* resolved(const char* name) {
    return reinterpret_cast<Function*>(resolve_operator(name));
}

// The two phases of an entry point. `Phase1` is the declared type of its ...GetWorkspaceSize.
template <class Phase1>
struct EntryPoint {
    explicit EntryPoint(const char* name)
        : name(name),
          phase1(resolved<Phase1>((this->name + "GetWorkspaceSize").c_str())),
          phase2(reinterpret_cast<Phase2>(resolve_operator(name))) {}

    const std::string name;
    Phase1* phase1;
    Phase2 phase2;
};

}  // namespace torch_aclnn
