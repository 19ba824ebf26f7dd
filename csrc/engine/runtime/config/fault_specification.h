// What TORCH_ACLNN_HOST_FAULT asks for, read from its text; docs/finding_errors.md#fault-injection has the grammar.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace torch_aclnn::host {

enum class FaultKind {
    call,        // a C function returns a code
    allocation,  // any allocation of device memory
    run,         // a task fails on its stream
    result,      // an operator writes other values than the right ones
    stream,      // a stream dies with a task, and all later ones fail too
    device,      // a device is lost with a task
};

struct Fault {
    FaultKind kind;
    std::string pattern;   // matches the name, if the kind has names
    uint64_t first, last;  // the calls or tasks that fail, counted from 1
    uint64_t step;
    int code;          // 0: the kind's own
    std::string text;  // the text of the specification
};

// Throws 100000 for a text that cannot be understood, with what was expected and what came.
std::vector<Fault> parse_faults(const std::string& text);

bool matches(const Fault& fault, const char* name);

}  // namespace torch_aclnn::host
