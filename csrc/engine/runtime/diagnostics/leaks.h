// TORCH_ACLNN_HOST_MODE=leaks: what a program has not released at aclFinalize, or at its end if it does not call that.
#pragma once

#include <vector>

#include "engine/runtime/diagnostics/call_stack.h"

namespace torch_aclnn::host {

// Leaked objects of one kind that were made at the same place.
struct Leak {
    const char* verb;  // "freed", "destroyed"
    std::string kind;
    std::string first;  // the description of the first
    CallStack made_at;  // unknown for handles
    size_t bytes, count;
};

class TORCH_ACLNN_HOST_API LeakList {
   public:
    // What torch_npu has made itself is left out, because it keeps its streams and the memory of its cache to the end.
    void add(const char* verb, const std::string& kind, const std::string& description, const CallStack& made_at = {}, size_t bytes = 0);
    // Prints the leaks with the stack of each. After an error it prints one line, because the error may have ended the program before it
    // freed them.
    void print(const char* end, bool after_error) const;

   private:
    void print_in_one_line(const char* end) const;

    std::vector<Leak> leaks_;
};

// Has `report` fill each list, once for each that is added.
TORCH_ACLNN_HOST_API void add_leak_report(void (*report)(LeakList&));

// Prints the list if TORCH_ACLNN_HOST_MODE=leaks is set. `end` tells when.
void report_leaks(const char* end, bool after_error = false);

}  // namespace torch_aclnn::host
