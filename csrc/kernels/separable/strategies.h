// The strategies: can_x() tells whether a loop gives the right result, pays_x() whether it is the fastest of those that follow in the
// table. Both ask for the axes of a problem as late as they can, because small tensors have no time for them.
#pragma once

#include "kernels/separable/problem.h"

namespace torch_aclnn::kernels {

// Windows that hold whole rows, each in two at most, such as the one of global pooling: runs of one value.
bool can_full_width(const Problem& problem);
bool pays_full_width(const Problem& problem);
void run_full_width(const Problem& problem, int thread_count);

// Planes or volumes that are small and without gaps: a lane for each of several of them.
bool can_transposed(const Problem& problem);
bool pays_transposed(const Problem& problem);
void run_transposed(const Problem& problem, int thread_count);

// Volumes: sums over the depth, of which each plane is made.
bool can_volumes(const Problem& problem);
void run_volumes(const Problem& problem, int thread_count);

// Pooling row by row: lanes are adjacent channels, or columns.
bool can_channels(const Problem& problem);
bool pays_channels(const Problem& problem);
void run_channels(const Problem& problem, int thread_count);
bool can_planes(const Problem& problem);
void run_planes(const Problem& problem, int thread_count);

// Padding row by row: copies with sums at either end.
bool can_rows(const Problem& problem);
void run_rows(const Problem& problem, int thread_count);

// The definition of the results, which can always run.
void run_scalar(const Problem& problem, int thread_count);

}  // namespace torch_aclnn::kernels
