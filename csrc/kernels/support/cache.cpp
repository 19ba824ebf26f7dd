#include "kernels/support/cache.h"

#include <algorithm>
#include <cstdio>

namespace torch_aclnn::kernels {

// The size of the first processor's cache with this index, as Linux tells it, or 0. Of the third level glibc 2.36 tells, by sysconf(),
// twelve times as much on some machines.
static int64_t cache_bytes(int index) {
    char path[64];
    std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
    long long kilobytes = 0;
    if (std::FILE* const file = std::fopen(path, "re")) {
        if (std::fscanf(file, "%lldK", &kilobytes) != 1) kilobytes = 0;
        std::fclose(file);
    }
    return int64_t{kilobytes} << 10;
}

int64_t last_cache_bytes() {
    constexpr int64_t kLeast = int64_t{8} << 20;
    static const int64_t bytes = std::max({kLeast, cache_bytes(2), cache_bytes(3)});
    return bytes;
}

}  // namespace torch_aclnn::kernels
