// The program's own log. It goes to the trace and to the coverage report; torch_npu sends what ASCEND_GLOBAL_LOG_LEVEL asks for, by default
// errors.

#include <cstdarg>
#include <cstdio>

#include "engine/runtime/diagnostics/coverage.h"
#include "engine/runtime/diagnostics/trace.h"
#include "engine/runtime/error/guarded.h"

extern "C" TORCH_ACLNN_HOST_API __attribute__((format(printf, 5, 6))) void aclAppLog(aclLogLevel, const char* func, const char* file,
                                                                                     uint32_t line, const char* fmt, ...) {
    if (fmt == nullptr || !(torch_aclnn::host::tracing() || torch_aclnn::host::covering())) return;
    char message[1024];
    va_list arguments;
    va_start(arguments, fmt);
    std::vsnprintf(message, sizeof message, fmt, arguments);
    va_end(arguments);
    torch_aclnn::host::coverage_log(message);
    if (!torch_aclnn::host::tracing()) return;
    torch_aclnn::host::guarded(__func__, [&] {
        const std::string text = torch_aclnn::host::text(file ? file : "?", ":", line, " ", func ? func : "?", ": ", message);
        torch_aclnn::host::trace_message("log", text.c_str());
    });
}
