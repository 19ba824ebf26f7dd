// TORCH_ACLNN_HOST_COVERAGE names a directory in which each process leaves its counts of calls, for `torch-aclnn coverage`.
#pragma once

#include <atomic>
#include <cstdint>

namespace torch_aclnn::host {

// What a record counts; 0 marks one that is free.
enum class CoverageKind : uint32_t { entry_point = 1, refused_operator = 2 };

// Returns true if the variable is set and the directory can be written.
bool covering() noexcept;

// Returns the counter of that name, or null without a directory. It is mapped from a file, so that it outlives the process however that
// ends.
std::atomic<uint64_t>* coverage_counter(CoverageKind kind, const char* name) noexcept;

// Adds a line of the program's log, once. Only torch_npu's log names the symbols that it looked up and did not find.
void coverage_log(const char* message) noexcept;

}  // namespace torch_aclnn::host
