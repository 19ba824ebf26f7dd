// The engine's JSON, for test_json.py: each function writes the JSON of a value into the caller's buffer.

#include <cstring>

#include "engine/runtime/diagnostics/json.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

using torch_aclnn::host::json_of;

static size_t copy(const std::string& json, char* out) {
    std::memcpy(out, json.data(), json.size());
    return json.size();
}

EXPORT size_t json_of_text(const char* text, size_t size, char* out) {
    return copy(json_of(std::string_view(text, size)), out);
}

EXPORT size_t json_of_double(double number, char* out) {
    return copy(json_of(number), out);
}

EXPORT size_t json_of_float(float number, char* out) {
    return copy(json_of(number), out);
}

EXPORT size_t json_of_long(int64_t number, char* out) {
    return copy(json_of(number), out);
}
