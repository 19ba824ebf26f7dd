// The arguments of an entry point in the trace, by their names (docs/trace.md): shapes, data types and formats of tensors, and the values
// of all else. A handle that is not live is not followed.
#pragma once

#include "engine/opapi/handles.h"
#include "engine/runtime/diagnostics/json.h"

namespace torch_aclnn::host {

TORCH_ACLNN_HOST_API void add_argument(JsonObject& arguments, const char* name, const aclTensor* tensor);
TORCH_ACLNN_HOST_API void add_argument(JsonObject& arguments, const char* name, const aclTensorList* tensors);
TORCH_ACLNN_HOST_API void add_argument(JsonObject& arguments, const char* name, const aclScalar* scalar);
TORCH_ACLNN_HOST_API void add_argument(JsonObject& arguments, const char* name, const aclScalarList* scalars);
TORCH_ACLNN_HOST_API void add_argument(JsonObject& arguments, const char* name, const aclIntArray* numbers);
TORCH_ACLNN_HOST_API void add_argument(JsonObject& arguments, const char* name, const aclFloatArray* numbers);
TORCH_ACLNN_HOST_API void add_argument(JsonObject& arguments, const char* name, const aclBoolArray* values);
TORCH_ACLNN_HOST_API void add_argument(JsonObject& arguments, const char* name, aclDataType dtype);
template <class Value, class = std::enable_if_t<std::is_arithmetic_v<Value> || std::is_same_v<Value, const char*>>>
void add_argument(JsonObject& arguments, const char* name, Value value) {
    arguments.add(name, value);
}

// Describes arguments, which are names and values by turns.
inline void describe_arguments(JsonObject&) {}
template <class Value, class... Rest>
void describe_arguments(JsonObject& arguments, const char* name, Value value, Rest... rest) {
    add_argument(arguments, name, value);
    describe_arguments(arguments, rest...);
}

}  // namespace torch_aclnn::host
