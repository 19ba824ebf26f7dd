// What NPUs ask for as workspaces, which a dry run counts as memory.
#pragma once

#include <cstdint>
#include <string_view>

namespace torch_aclnn::host {

// The bytes that phase 1 asks for on the product that is presented, as far as something published says so; 0 of other entry points.
uint64_t workspace_of_npus(std::string_view entry_point);

}  // namespace torch_aclnn::host
