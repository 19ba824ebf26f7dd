#include "arenas.h"

#include "acl/acl.h"

namespace fuzz {

constexpr size_t kArena = size_t{1} << 16, kArenas = 10;

// Every second arena's room is reserved only, which means without access.
static uint8_t* map_arenas() {
    void* first = nullptr;
    if (aclrtReserveMemAddress(&first, 2 * kArena * kArenas, 0, nullptr, 0) != ACL_SUCCESS) return nullptr;
    for (size_t i = 0; i < kArenas; ++i) {
        const aclrtPhysicalMemProp on_device_0{};
        aclrtDrvMemHandle physical = nullptr;
        if (aclrtMallocPhysical(&physical, kArena, &on_device_0, 0) != ACL_SUCCESS) return nullptr;
        if (aclrtMapMem(static_cast<uint8_t*>(first) + 2 * i * kArena, kArena, 0, physical, 0) != ACL_SUCCESS) return nullptr;
    }
    return static_cast<uint8_t*>(first);
}

uint8_t* guarded_memory(size_t number, size_t bytes) {
#if defined(FUZZ_SANITIZED)
    (void)number, (void)bytes, (void)map_arenas;
    return nullptr;
#else
    static uint8_t* const first = map_arenas();
    constexpr size_t kAlignment = 8;  // the alignment of every element's address
    if (first == nullptr || number >= kArenas || bytes > kArena || bytes % kAlignment != 0) return nullptr;
    return first + 2 * number * kArena + kArena - bytes;
#endif
}

}  // namespace fuzz
