// The calling thread's last error.
#pragma once

namespace torch_aclnn::host {

// "<function>: <message>"; empty if there was none, or if the program has read it.
const char* recent_message() noexcept;

}  // namespace torch_aclnn::host
