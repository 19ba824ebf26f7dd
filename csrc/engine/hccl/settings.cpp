#include "engine/hccl/settings.h"

#include <cerrno>
#include <cstdlib>
#include <string>

#include "engine/runtime/error/error.h"
#include "hccl/hccl_types.h"

namespace torch_aclnn::host {
namespace {

constexpr long kMaxSeconds = 1000000;

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
}

std::chrono::seconds read_seconds(const char* name, long otherwise) {
    const std::string value = variable(name);
    if (value.empty()) return std::chrono::seconds(otherwise);
    char* end = nullptr;
    errno = 0;
    const long seconds = std::strtol(value.c_str(), &end, 10);
    if (errno != 0 || *end != '\0' || seconds < 0 || seconds > kMaxSeconds) refuse(HCCL_E_PARA, name, "a number of seconds", value);
    return std::chrono::seconds(seconds != 0 ? seconds : kMaxSeconds);  // documented: 0 is no limit
}

}  // namespace

const CollectiveSettings& collective_settings() {
    static const CollectiveSettings settings{read_seconds("HCCL_CONNECT_TIMEOUT", 120), read_seconds("HCCL_EXEC_TIMEOUT", 1800)};
    return settings;
}

}  // namespace torch_aclnn::host
