// What the records of csrc/vocabulary say of an entry point beside its parameters, for those who know its name alone.
#pragma once

#include <string_view>

#include "engine/runtime/stream/task.h"

namespace torch_aclnn::host {

struct Facts {
    Task::Nature nature = Task::Nature::other;  // disjunctions are those of BOOL
    bool fills = false;                         // works in place on memory of which it reads nothing
    bool has_system_workspace = false;          // a kernel of A2 and A3 that needs it
};
const Facts& facts_of(std::string_view entry_point);

}  // namespace torch_aclnn::host
