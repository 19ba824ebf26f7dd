#include "engine/runtime/config/configuration_file.h"

#include <fstream>
#include <iterator>

#include "engine/runtime/device/context.h"
#include "engine/runtime/device/device.h"
#include "engine/runtime/error/call.h"

namespace torch_aclnn::host {
namespace {

size_t skip_blanks(const std::string& json, size_t at) {
    return json.find_first_not_of(" \t\r\n", at);
}

// The position after `"key" :`, or npos. Good enough for a file of two levels with distinct names.
size_t after_key(const std::string& json, const char* key, size_t from) {
    const std::string quoted = text('"', key, '"');
    const size_t found = json.find(quoted, from);
    if (found == std::string::npos) return found;
    const size_t colon = skip_blanks(json, found + quoted.size());
    return colon != std::string::npos && json[colon] == ':' ? skip_blanks(json, colon + 1) : std::string::npos;
}

// {"defaultDevice": {"default_device": "0"}} -> 0; -1 if there is no such entry, -2 if it is not a number.
int read_default_device(const std::string& json) {
    const size_t object = after_key(json, "defaultDevice", 0);
    if (object == std::string::npos) return -1;
    const size_t value = after_key(json, "default_device", object);
    if (value == std::string::npos || json[value] != '"') return -2;
    const size_t end = json.find('"', value + 1);
    if (end == std::string::npos || end == value + 1 || end - value > 4) return -2;
    int number = 0;
    for (size_t at = value + 1; at < end; ++at) {
        if (json[at] < '0' || json[at] > '9') return -2;
        number = number * 10 + (json[at] - '0');
    }
    return number;
}

}  // namespace

aclError apply_configuration(const char* function, const char* path) {
    if (path == nullptr || *path == '\0') return ACL_SUCCESS;
    std::ifstream file(path);
    if (!file) return fail(ACL_ERROR_INVALID_PARAM, text(function, ": configPath must be a readable file, got \"", path, "\""));
    const std::string json{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const int number = read_default_device(json);
    if (number == -1) return ACL_SUCCESS;
    Device* device = nullptr;
    if (aclError code = find_device(function, "configPath's default_device", number, device)) return code;
    set_default_device(number);
    return ACL_SUCCESS;
}

}  // namespace torch_aclnn::host
