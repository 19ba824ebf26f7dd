// The calling thread's last error.
#pragma once

#include <atomic>

namespace torch_aclnn::host {

// Returns "<function>: <message>"; empty if there was no error, or if the program has read it.
const char* recent_message() noexcept;

// Unless null, called with each message that is left on a thread.
extern std::atomic<void (*)(const char* message)> error_listener;
// Called with the code that the function returns, too.
extern std::atomic<void (*)(int code, const char* message)> code_listener;

}  // namespace torch_aclnn::host
