// Symbols that appear at run time. torch_npu, and every other caller, looks for an entry point with dlsym in the handle of libopapi.so,
// which finds what that library and those that it needs export. This library is one of them, and its table of symbols grows: a name that is
// added is found from then on, and its two functions are those of a slot, which pass the call on.
#pragma once

#include <cstddef>
#include <cstdint>

#include "aclnn/aclnn_base.h"
#include "engine/runtime/visibility.h"

namespace torch_aclnn::host {

// Where the procedure call standard of the processor puts the arguments of a function that takes integers, pointers and floating point.
#if defined(__x86_64__)
constexpr size_t kIntegerRegisters = 6;
#elif defined(__aarch64__)
constexpr size_t kIntegerRegisters = 8;
#else
#error "the calling convention of this processor is not known"
#endif
constexpr size_t kFloatRegisters = 8;

// An argument lies in the low bytes of its register, or of its 8 bytes on the stack.
struct RawArguments {
    uint64_t integers[kIntegerRegisters];
    uint64_t floats[kFloatRegisters];
};

// The functions of an added entry point call these.
struct AddedEntryPoint {
    aclnnStatus (*phase1)(const AddedEntryPoint& added, const RawArguments& registers, const uint64_t* stack) noexcept;
    aclnnStatus (*phase2)(const AddedEntryPoint& added, void* workspace, uint64_t workspace_size, aclOpExecutor* executor,
                          aclrtStream stream) noexcept;
};

constexpr size_t kMaxAddedEntryPoints = 512;

// Exports `name` and `name`GetWorkspaceSize; a name that was added before gets other functions. False if there is no slot left. What is
// added must live as long as the process. Not for two threads at once.
TORCH_ACLNN_HOST_API bool add_entry_point(const char* name, const AddedEntryPoint& added) noexcept;

}  // namespace torch_aclnn::host
