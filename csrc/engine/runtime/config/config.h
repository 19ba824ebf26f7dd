#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "contract/products.h"
#include "engine/runtime/visibility.h"

namespace torch_aclnn::host {

using torch_aclnn::Product;  // so that `using namespace torch_aclnn::host` brings it too

// The engine's settings, read from the environment once, at first use (docs/environment.md lists the variables).
struct Config {
    std::string soc_name;                   // TORCH_ACLNN_HOST_SOC
    Product product = Product::a2;          // follows from soc_name
    int device_count = 1;                   // TORCH_ACLNN_HOST_DEVICES, or LOCAL_WORLD_SIZE: the machine's
    size_t memory_bytes = size_t{8} << 30;  // TORCH_ACLNN_HOST_MEMORY, per device
    bool dry_run = false;                   // TORCH_ACLNN_HOST_COMPUTE=0: only small tensors of known values are computed
    size_t known_bytes = size_t{16} << 20;  // TORCH_ACLNN_HOST_KNOWN: the bytes of known values that a task may write
    double expert_load = 1;                 // TORCH_ACLNN_HOST_EXPERT_LOAD: a dry run's load of the first half of experts over the mean
    int thread_count = 1;                   // TORCH_ACLNN_HOST_THREADS
    bool allow_float64 = false;             // TORCH_ACLNN_HOST_MODE=float64
    bool hf32 = false;                      // TORCH_ACLNN_HOST_MODE=hf32: products round FLOAT as cubeMathType permits
    bool strict = false;                    // TORCH_ACLNN_HOST_MODE=strict: refuse what the documents do not promise
    bool unspecified = false;               // TORCH_ACLNN_HOST_MODE=unspecified: what no document promises is deliberately different
    bool npu_workspace = false;             // TORCH_ACLNN_HOST_MODE=npu_workspace, and dry runs: workspaces are as large as on NPUs
    bool use_workspace = false;             // TORCH_ACLNN_HOST_MODE=workspace: entry points ask for a workspace and write over it
    bool keep_handles = false;              // TORCH_ACLNN_HOST_MODE=keep_handles: phase 2 needs no handles of phase 1
    bool list_leaks = false;                // TORCH_ACLNN_HOST_MODE=leaks: aclFinalize lists handles and executors that were not destroyed
    bool compare_ranks = true;              // TORCH_ACLNN_HOST_CHECK_COLLECTIVES: ranks compare what they are about to do
    bool rank_alone = false;                // TORCH_ACLNN_HOST_RANK_ALONE: there are no other ranks; their values are taken for this one's
    bool asynchronous = false;              // TORCH_ACLNN_HOST_MODE=async: each stream runs its work on a thread of its own
    int delay_seed = 0;                     // TORCH_ACLNN_HOST_DELAYS: work is delayed at random; 0: it is not
    bool check_streams = false;             // TORCH_ACLNN_HOST_MODE=check_streams: report unordered uses of memory on two streams
    bool isolate = false;                   // TORCH_ACLNN_HOST_MODE=isolate: the program cannot touch device memory
    bool poison = false;                    // TORCH_ACLNN_HOST_MODE=poison: fresh and freed memory is written over
    std::string faults;                     // TORCH_ACLNN_HOST_FAULT: what is to fail; empty: nothing
    std::string trace;                      // TORCH_ACLNN_HOST_TRACE: a file's path, in which %p is the process, or "stderr"
};
TORCH_ACLNN_HOST_API const Config& config();

// Returns the release of CANN that the engine presents, TORCH_ACLNN_HOST_CANN. It is read apart from the other settings, because torch_npu
// asks for it as it is imported, when a program may not have made those yet.
const char* presented_cann();

// Returns how many devices the process sees: ASCEND_RT_VISIBLE_DEVICES counts from the first use of a device on.
int visible_device_count();

// Returns variables that are set and begin like the engine's, but are read by nothing.
std::vector<std::string> unknown_variables();

// 100000 if a setting could not be understood, with the first that was not.
void require_valid_config();

}  // namespace torch_aclnn::host
