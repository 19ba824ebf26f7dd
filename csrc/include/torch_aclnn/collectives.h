// What a process has communicated. This is the engine's own and not part of CANN's interface.
#pragma once

#include "acl/acl_base.h"

typedef struct torchAclnnCollective {
    size_t size;               // bytes of this record that the engine has filled; later versions add fields at the end
    const char* name;          // "HcclAllReduce"; empty in the one record of a communicator on which nothing was launched
    const char* communicator;  // the name that HcclGetCommName returns
    uint32_t ranks;            // the communicator's number of ranks
    uint64_t calls;            // calls that were launched since the process started
    uint64_t bytes;            // bytes that this rank reads or writes, whichever is more, summed over the calls
} torchAclnnCollective;

// Writes up to `capacity` records of `recordSize` bytes, which is the caller's sizeof(torchAclnnCollective), and returns how many there
// are, one for each communicator and function that was called on it. A null `collectives` asks for their number alone. The texts live as
// long as the process. In libhccl.so.
ACL_FUNC_VISIBILITY size_t torchAclnnHostCollectives(torchAclnnCollective* collectives, size_t capacity, size_t recordSize);
