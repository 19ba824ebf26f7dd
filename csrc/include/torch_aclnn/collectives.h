// What a process has communicated. This is the engine's own and not part of CANN's interface.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct torchAclnnCollective {
    size_t size;               // bytes of this record that the engine has filled; later versions add fields at the end
    const char* name;          // "HcclAllReduce"; empty in the one record of a communicator on which nothing was launched
    const char* communicator;  // as HcclGetCommName has it
    uint32_t ranks;            // of the communicator
    uint64_t calls;            // that were launched since the process started
    uint64_t bytes;            // of this rank, summed over the calls: what is read or what is written, whichever is more
} torchAclnnCollective;

// Writes up to `capacity` records of `recordSize` bytes, which is the caller's sizeof(torchAclnnCollective), and returns how many there
// are, one for each communicator and function that was called on it. A null `collectives` asks for their number alone. The texts live as
// long as the process. In libhccl.so.
__attribute__((visibility("default"))) size_t torchAclnnHostCollectives(torchAclnnCollective* collectives, size_t capacity,
                                                                        size_t recordSize);

#ifdef __cplusplus
}
#endif
