// TORCH_ACLNN_HOST_MODE=check_streams: reports two tasks of two streams that touch the same memory while nothing says which comes first.
// That does not depend on when they ran: what counts is the order in which streams, events and synchronisations put them.
#pragma once

#include <vector>

#include "engine/runtime/diagnostics/call_stack.h"
#include "engine/runtime/memory/device_memory.h"
#include "engine/runtime/stream/stream_clock.h"

namespace torch_aclnn::host {

// Each does nothing unless the check is switched on. The name of a task, and those of its parameters, must live as long as the process.

void order_launch(int stream, const char* task, const std::vector<MemoryAccess>& accesses, std::shared_ptr<const CallStack> asked_at);
// Notes what the calling thread does itself, now.
void order_program(const char* function, const std::vector<MemoryAccess>& accesses);
// Returns the clock of the tasks that come before what the stream is given next.
StreamClock order_so_far(int stream);
void order_after(int stream, const StreamClock& clock);
// Notes that the program knows these tasks to be over; whatever it launches from now on comes later.
void order_program_after(const StreamClock& clock);

}  // namespace torch_aclnn::host
