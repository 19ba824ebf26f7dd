// TORCH_ACLNN_HOST_TRACE: one line of JSON for each call, and for each task when it has run. docs/trace.md lists the fields.
//
// While there is no trace all of this costs a call one branch: tracing().
#pragma once

#include <atomic>
#include <cstdint>
#include <tuple>

#include "acl/acl.h"
#include "engine/runtime/diagnostics/json.h"

namespace torch_aclnn::host {

extern TORCH_ACLNN_HOST_API std::atomic<bool> trace_is_open;
inline bool tracing() noexcept {
    return trace_is_open.load(std::memory_order_relaxed);
}

// Opens the trace if the variable asks for one and it is not open. 100000 if it cannot be written.
void open_trace();

// Nanoseconds since the trace was opened, and never 0, which stands for "not traced".
TORCH_ACLNN_HOST_API int64_t trace_clock() noexcept;

// What a call's line says beside the function, the times and the code.
struct TORCH_ACLNN_HOST_API TraceDetails {
    JsonObject arguments;  // by the parameters' names
    int device = -1;       // -1: the calling thread's
    int stream = -1;
    int phase = 0;        // 1 or 2 for an entry point
    uint64_t number = 0;  // shared by both phases and the task of an entry point's call

    // Adds the handle under the parameter's name; the line has the stream's number if it is live. The definition is with the streams.
    TraceDetails& on(aclrtStream stream_handle);
    TraceDetails& add(const char* name, const auto& value) {
        arguments.add(name, value);
        return *this;
    }
};

// Adds arguments, which are names and values in turn.
inline void add_arguments(JsonObject&) {}
template <class Value, class... Rest>
void add_arguments(JsonObject& arguments, const char* name, const Value& value, const Rest&... rest) {
    arguments.add(name, value);
    add_arguments(arguments, rest...);
}
// The arguments of a call, which refer to the call's own: they are read when the call is over, if there is a trace.
template <class... NamesAndValues>
class CallArguments {
   public:
    explicit CallArguments(const NamesAndValues&... names_and_values) : all_(names_and_values...) {}
    CallArguments& on(const aclrtStream& stream) {
        stream_ = &stream;
        return *this;
    }
    TraceDetails operator()() const {
        TraceDetails details;
        std::apply([&](const auto&... all) { add_arguments(details.arguments, all...); }, all_);
        return stream_ == nullptr ? details : details.on(*stream_);
    }

   private:
    const std::tuple<const NamesAndValues&...> all_;
    const aclrtStream* stream_ = nullptr;
};
template <class... NamesAndValues>
CallArguments<NamesAndValues...> call_arguments(const NamesAndValues&... names_and_values) {
    return CallArguments<NamesAndValues...>(names_and_values...);
}
// The value that a pointer for a result points at when the call is over.
template <class Value>
struct ValueAt {
    const Value* place;
};
template <class Value>
ValueAt<Value> value_at(const Value* place) {
    return {place};
}
template <class Value>
std::string json_of(const ValueAt<Value>& value) {
    return json_of(value.place == nullptr ? Value{} : *value.place);
}

// Called around a call of the C interface. Between the two, errors of the calling thread get no lines of their own.
TORCH_ACLNN_HOST_API int64_t begin_traced_call() noexcept;
TORCH_ACLNN_HOST_API void end_traced_call(int64_t begin, const char* function, int code, const TraceDetails& details) noexcept;

// Writes the line of a task that has run on the calling thread since `begin`; 0 says that it was skipped, because it came after a failure.
void trace_task(const char* name, int device, int stream, int64_t begin, int code, const char* message) noexcept;
// Sets the number of the call whose task the calling thread runs.
TORCH_ACLNN_HOST_API void set_traced_task(uint64_t number) noexcept;

// Writes a line of that kind, "error" or "log", which is about no traced call.
TORCH_ACLNN_HOST_API void trace_message(const char* kind, const char* message) noexcept;

}  // namespace torch_aclnn::host
