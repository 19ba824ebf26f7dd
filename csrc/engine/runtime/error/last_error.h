// The calling thread's last error.
#pragma once

#include <atomic>

namespace torch_aclnn::host {

// "<function>: <message>"; empty if there was none, or if the program has read it.
const char* recent_message() noexcept;

// Called with each message that is left on a thread, unless it is null.
extern std::atomic<void (*)(const char* message)> error_listener;

}  // namespace torch_aclnn::host
