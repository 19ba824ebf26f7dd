// How a C function of the engine is written whose calls are lines of the trace.
#pragma once

#include "engine/runtime/diagnostics/trace.h"
#include "engine/runtime/error/guarded.h"

namespace torch_aclnn::host {

// A separate function, so that the code of calls without a trace stays short.
[[gnu::cold, gnu::noinline]] int end_traced(int64_t begin, const char* function, int code, auto& arguments) noexcept {
    TraceDetails details;
    try {
        details = arguments();
    } catch (...) {
        // The line then goes without the arguments.
    }
    end_traced_call(begin, function, code, details);
    return code;
}

// Runs the body as guarded() does, and writes a line to the trace if there is one. `arguments`, as call_arguments() makes it, then returns
// the TraceDetails; it is called after the body.
int traced(const char* function, auto&& arguments, auto&& body, FallbackCodes codes = {}) {
    const int64_t begin = tracing() ? begin_traced_call() : 0;
    const int code = guarded(function, body, codes);
    return begin == 0 ? code : end_traced(begin, function, code, arguments);
}

}  // namespace torch_aclnn::host
