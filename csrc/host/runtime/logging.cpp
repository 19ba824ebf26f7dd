// The program's own log, of which only errors are of interest, and only to the trace.

#include <cstdarg>
#include <cstdio>

#include "host/runtime/call.h"

namespace {

constexpr int kErrorLevel = 3;  // documented: debug 0, info 1, warning 2, error 3

}  // namespace

extern "C" TORCH_ACLNN_HOST_API __attribute__((format(printf, 5, 6))) void aclAppLog(int logLevel, const char* func, const char* file,
                                                                                     uint32_t line, const char* fmt, ...) {
    if (logLevel < kErrorLevel || fmt == nullptr || !torch_aclnn::host::tracing()) return;
    char message[1024];
    va_list arguments;
    va_start(arguments, fmt);
    std::vsnprintf(message, sizeof message, fmt, arguments);
    va_end(arguments);
    torch_aclnn::host::guarded(__func__, [&](const char* function) {
        torch_aclnn::host::trace(
            torch_aclnn::host::text(function, "(", file ? file : "?", ":", line, " ", func ? func : "?", "): ", message));
        return ACL_SUCCESS;
    });
}
