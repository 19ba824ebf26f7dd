// The calling thread's last error.
#pragma once

#include <atomic>

namespace torch_aclnn::host {

// Returns "<function>: <message>"; empty if there was no error, or if the program has read it.
const char* recent_message() noexcept;

// This is called with each message that is left on a thread, unless it is null.
extern std::atomic<void (*)(const char* message)> error_listener;
// This is called with the code that the function returns, too.
extern std::atomic<void (*)(int code, const char* message)> code_listener;

}  // namespace torch_aclnn::host
