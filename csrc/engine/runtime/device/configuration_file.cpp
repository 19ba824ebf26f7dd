#include "engine/runtime/device/configuration_file.h"

#include <fstream>
#include <iterator>
#include <optional>

#include "engine/runtime/calling_thread.h"
#include "engine/runtime/device/context.h"
#include "engine/runtime/device/device.h"
#include "engine/runtime/error/error.h"
#include "engine/runtime/text.h"

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

// The digits between two quotes.
std::optional<int> read_quoted_number(const std::string& json, size_t at) {
    constexpr size_t kMaxDigits = 3;
    if (at == std::string::npos || json[at] != '"') return std::nullopt;
    const std::string digits = json.substr(at + 1, json.find('"', at + 1) - at - 1);
    if (digits.empty() || digits.size() > kMaxDigits || digits.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
    return std::stoi(digits);
}

}  // namespace

// {"defaultDevice": {"default_device": "0"}}
void apply_configuration_file(const char* path) {
    if (path == nullptr || *path == '\0') return;
    std::ifstream file(path);
    if (!file) refuse(ACL_ERROR_INVALID_PARAM, "configPath", "a readable file", text('"', path, '"'));
    const std::string json{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const size_t object = after_key(json, "defaultDevice", 0);
    if (object == std::string::npos) return;
    constexpr char kParameter[] = "configPath's default_device";
    const auto number = read_quoted_number(json, after_key(json, "default_device", object));
    if (!number) refuse(ACL_ERROR_RT_INVALID_DEVICEID, kParameter, "the number of a device in quotes", "something else");
    (void)find_device(kParameter, *number);
    set_default_device(*number);
}

}  // namespace torch_aclnn::host
