// What the records of csrc/vocabulary say of an entry point beside its parameters, for those who know its name alone.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/runtime/diagnostics/entry_point.h"
#include "engine/runtime/stream/task.h"

namespace torch_aclnn::host {

struct Facts {
    Task::Nature nature = Task::Nature::other;  // disjunctions are only those of BOOL
    bool fills = false;                         // whether it works in place and reads nothing of that memory
    bool has_system_workspace = false;          // whether a kernel of A2 and A3 needs the system's workspace
};
const Facts& facts_of(std::string_view entry_point);

// Which parameters of a call are written, and which of those are read too.
struct ParameterUse {
    bool is_write;
    bool keeps;  // whether the tensor's old values are part of its new ones, as in an in-place sum
};

// `is_written` tells whether the handle's type is one that may be written.
ParameterUse use_of(const EntryPoint& entry_point, const char* parameter, bool is_written);

// The workspace that NPUs ask for, which a dry run counts as memory: the bytes that phase 1 asks for on the product that is presented, as
// far as something published says so; 0 of other entry points.
uint64_t workspace_of_npus(std::string_view entry_point);

}  // namespace torch_aclnn::host
