// The attributes of a call of an operator by name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "acl/acl.h"

namespace torch_aclnn::host {

using Attribute = std::variant<bool, int64_t, float, std::string, aclDataType, std::vector<unsigned char>, std::vector<int64_t>,
                               std::vector<float>, std::vector<std::vector<int64_t>>>;

// What each of them is, in the order of the variant, for messages.
constexpr const char* kAttributeKinds[] = {"a bool",
                                           "an integer",
                                           "a float",
                                           "a string",
                                           "a data type",
                                           "a list of bools",
                                           "a list of integers",
                                           "a list of floats",
                                           "a list of lists of integers"};
static_assert(std::size(kAttributeKinds) == std::variant_size_v<Attribute>);

using Attributes = std::map<std::string, Attribute>;

}  // namespace torch_aclnn::host

struct aclopAttr {
    torch_aclnn::host::Attributes values;
};
