// The file that the trace goes to.
#pragma once

#include <string>

namespace torch_aclnn::host {

// A process has a first line in each file, of which `first_line` is asked for when it begins; and again in a forked child.
// Throws 100000 if the file cannot be opened or written.
void open_trace_file(std::string (*first_line)());

// Writes the whole line to the end of the file at once, so that the lines of several threads and processes do not mix, and none is lost
// with the process. Returns false, after a message on standard error, if it cannot be written.
bool write_trace_line(const std::string& line) noexcept;

}  // namespace torch_aclnn::host
