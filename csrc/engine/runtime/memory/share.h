// Memory that other processes may use. What they have to know of it is a page of the process's file (memory_file.h), and a number names the
// process and that page. A key has a secret, too: another process may have got the same number, and have as many pages.
#pragma once

#include "engine/runtime/memory/memory_file.h"

namespace torch_aclnn::host {

enum class ShareKind : uint32_t { none, allocation, physical };

struct SharedMemory {
    std::shared_ptr<MemoryFile> file;
    int64_t offset;
    size_t size;
    int device;
    uint64_t secret;
};

// `flags` must be 0 or 1 for both kinds of functions; 107000 for other values, and 207000 in a dry run.
void require_share_flags(uint64_t flags);

struct Shared {
    uint64_t number;
    uint64_t secret;
};

// Shares a part of this process's file, with all processes or with those that allow() names.
Shared share(ShareKind kind, int64_t offset, size_t size, int device, bool to_all);
// 107000 unless this process has shared it.
void allow(const char* parameter, uint64_t number, ShareKind kind, const int32_t* processes, size_t count);
// Returns false if this process has not shared it.
bool end_share(uint64_t number, ShareKind kind) noexcept;

// 107000 unless it is shared with this process.
SharedMemory find_shared(const char* parameter, uint64_t number, ShareKind kind);
bool is_own(uint64_t number) noexcept;

}  // namespace torch_aclnn::host
