// The text of a JSON object, as a line of the trace is one.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include "engine/runtime/visibility.h"

namespace torch_aclnn::host {

// JSON has no numbers for "nan", "inf" and "-inf", which become texts.
TORCH_ACLNN_HOST_API std::string json_of(double number);
// Returns the shortest decimal number that is read as the same float.
TORCH_ACLNN_HOST_API std::string json_of(float number);
// Returns a text in quotes. Bytes that are not UTF-8 become U+FFFD.
TORCH_ACLNN_HOST_API std::string json_of(std::string_view text);
inline std::string json_of(const std::string& text) {
    return json_of(std::string_view(text));
}
inline std::string json_of(const char* text) {
    return text == nullptr ? "null" : json_of(std::string_view(text));
}
// An address is a text, "0x7f00"; JSON's numbers are decimal.
TORCH_ACLNN_HOST_API std::string json_of(const void* address);
inline std::string json_of(bool value) {
    return value ? "true" : "false";
}
template <class Integer, class = std::enable_if_t<std::is_integral_v<Integer> || std::is_enum_v<Integer>>>
std::string json_of(Integer number) {
    return std::to_string(+number);
}

// Returns a list such as [1, 2]; `write` makes the JSON of one value.
std::string json_array(const auto& values, auto&& write) {
    std::string array = "[";
    for (const auto& value : values) {
        if (array.size() > 1) array += ", ";
        array += write(value);
    }
    return array + "]";
}

class TORCH_ACLNN_HOST_API JsonObject {
   public:
    // The value must be JSON already.
    JsonObject& add_json(std::string_view name, std::string_view json);
    JsonObject& add(std::string_view name, const auto& value) { return add_json(name, json_of(value)); }

    bool empty() const { return members_.empty(); }
    std::string text() const { return "{" + members_ + "}"; }

   private:
    std::string members_;
};

}  // namespace torch_aclnn::host
