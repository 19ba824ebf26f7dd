// Variables whose names are mistyped.

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "engine/runtime/config/config.h"

namespace torch_aclnn::host {

constexpr std::string_view kPrefix = "TORCH_ACLNN_";

// torch_aclnn/command/info/variables.py has them too, and who reads which.
constexpr std::string_view kKnown[] = {
    "ENGINE",        "IMPORT_HOOK",     "ISA",          "LOOP",         "HOST_CANN",  "HOST_CHECK_COLLECTIVES",
    "HOST_COMPUTE",  "HOST_DELAYS",     "HOST_DEVICES", "HOST_FAULT",   "HOST_KNOWN", "HOST_MEMORY",
    "HOST_MODE",     "HOST_RANK_ALONE", "HOST_SOC",     "HOST_THREADS", "HOST_TRACE", "HOST_EXPERT_LOAD",
    "HOST_COVERAGE", "HOST_FINDINGS",   "HOST_OBSERVE"};

std::vector<std::string> unknown_variables() {
    std::vector<std::string> unknown;
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
        const std::string_view name(*variable, std::strcspn(*variable, "="));
        if (name.substr(0, kPrefix.size()) != kPrefix) continue;
        if (std::find(std::begin(kKnown), std::end(kKnown), name.substr(kPrefix.size())) == std::end(kKnown)) unknown.emplace_back(name);
    }
    return unknown;
}

}  // namespace torch_aclnn::host
