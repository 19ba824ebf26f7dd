// TORCH_ACLNN_HOST_MODE=isolate: what the program is told when it touches device memory.
#pragma once

namespace torch_aclnn::host {

// The first call, in that mode, takes over SIGSEGV and SIGBUS: a fault at an address of device memory is explained on standard error, and
// then goes on to whoever handled the signal before, like all other faults.
void install_fault_reports_if_wanted();

}  // namespace torch_aclnn::host
