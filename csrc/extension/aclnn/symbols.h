// Names of the C interface, resolved once. Nothing here knows whether CANN or the host engine answers.
#pragma once

#include <cstdint>
#include <string>

// The handles are opaque to the extension.
struct aclTensor;
struct aclIntArray;
struct aclOpExecutor;

namespace torch_aclnn {

using Stream = void*;
using Status = int32_t;
using Phase2 = Status (*)(void* workspace, uint64_t workspace_size, aclOpExecutor* executor, Stream stream);

// The address of a function of the operator library; throws NotImplementedError with its name if it is not there.
void* resolve_operator(const char* name);

// The same for a function of the runtime library, or null.
void* find_in_runtime(const char* name);

// The two phases of an entry point; `Arguments` are those of phase 1 before workspaceSize and executor.
template <class... Arguments>
struct EntryPoint {
    using Phase1 = Status (*)(Arguments..., uint64_t* workspace_size, aclOpExecutor** executor);

    explicit EntryPoint(const char* name)
        : name(name),
          phase1(reinterpret_cast<Phase1>(resolve_operator((std::string(name) + "GetWorkspaceSize").c_str()))),
          phase2(reinterpret_cast<Phase2>(resolve_operator(name))) {}

    const char* name;
    Phase1 phase1;
    Phase2 phase2;
};

}  // namespace torch_aclnn
