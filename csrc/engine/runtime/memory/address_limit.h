// Where the address space of the process is limited (ulimit -v, containers), most of it is the program's.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <cstddef>

namespace torch_aclnn::host {

// Returns what is wanted, or that share of the limit if it is less.
inline size_t within_address_limit(size_t wanted, size_t share) {
    rlimit limit{};
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return wanted;
    return std::min<size_t>(wanted, limit.rlim_cur / share);
}

}  // namespace torch_aclnn::host
