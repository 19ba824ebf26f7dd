// Splits independent work over threads. Kernels give each unit of work its own output, so the split never changes a bit of the result.
#pragma once

#include <algorithm>
#include <cstdint>

namespace torch_aclnn::kernels {

// Returns true in a process that was forked: OpenMP's threads do not survive a fork, and waiting for them would hang.
bool forked();

// A team of threads costs about as much as copying this many elements. Those of a sum take about twice the time of a copy each, those of a
// gather six times.
constexpr int64_t kElementsPerThread = 65536, kCostOfSum = 2, kCostOfGather = 6;

// Calls body(begin, end) for consecutive ranges that cover [0, count); `unit_cost` is the number of elements that could be copied in the
// time of one unit.
void parallel_for(int64_t count, int64_t unit_cost, int thread_count, const auto& body) {
    const int64_t useful = std::min(count, count * std::max<int64_t>(unit_cost, 1) / kElementsPerThread + 1);
    const int64_t parts = std::min<int64_t>(useful, thread_count);
    if (parts <= 1 || forked()) {
        if (count > 0) body(int64_t{0}, count);
        return;
    }
#pragma omp parallel for num_threads(static_cast<int>(parts)) schedule(static, 1)
    for (int64_t part = 0; part < parts; ++part) body(count * part / parts, count * (part + 1) / parts);
}

}  // namespace torch_aclnn::kernels
