#include "engine/runtime/diagnostics/json.h"

#include <charconv>
#include <cmath>
#include <cstdio>

#include "engine/runtime/text.h"

namespace torch_aclnn::host {

// Writes a number with a fraction or an exponent, so that it is read as floating point again.
static std::string number_text(auto number) {
    if (std::isnan(number)) return "\"nan\"";
    if (std::isinf(number)) return number < 0 ? "\"-inf\"" : "\"inf\"";
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    const std::string_view written(digits, static_cast<size_t>(end - digits));
    return std::string(written) + (written.find_first_of(".e") == std::string_view::npos ? ".0" : "");
}

static std::string escaped(unsigned char character) {
    switch (character) {
        case '"': return "\\\"";
        case '\\': return "\\\\";
        case '\n': return "\\n";
        case '\t': return "\\t";
        default: break;
    }
    char code[8];
    std::snprintf(code, sizeof code, "\\u%04x", character);
    return code;
}

std::string json_of(double number) {
    return number_text(number);
}

std::string json_of(float number) {
    return number_text(number);
}

std::string json_of(const void* address) {
    return address == nullptr ? "null" : '"' + text(address) + '"';
}

std::string json_of(std::string_view text) {
    std::string json = "\"";
    while (!text.empty()) {
        const size_t length = utf8_length(text);
        const auto first = static_cast<unsigned char>(text[0]);
        if (length == 0)
            json += "\\ufffd";
        else if (first < 0x20 || first == '"' || first == '\\' || first == 0x7F)
            json += escaped(first);
        else
            json += text.substr(0, length);
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return json + '"';
}

JsonObject& JsonObject::add_json(std::string_view name, std::string_view json) {
    if (!members_.empty()) members_ += ", ";
    members_ += json_of(name);
    members_ += ": ";
    members_ += json;
    return *this;
}

}  // namespace torch_aclnn::host
