// Which tensors the caches hold.
#pragma once

#include <cstdint>

#include "kernels/support/view.h"

namespace torch_aclnn::kernels {

// The bytes of the last of this machine's caches; 8 MiB where the system does not tell, and at least.
int64_t last_cache_bytes();

// A tensor of this size is read from memory, and a result pushes everything else out of the caches without finding a place there itself, so
// it is written around them.
template <int Rank>
bool is_large(const View<Rank>& tensor) {
    return tensor.bytes() > last_cache_bytes();
}

// A tensor of this size may have to be read from memory, because other programs use a part of the last cache.
inline bool exceeds_half_of_cache(int64_t bytes) {
    return 2 * bytes > last_cache_bytes();
}
template <int Rank>
bool exceeds_half_of_cache(const View<Rank>& tensor) {
    return exceeds_half_of_cache(tensor.bytes());
}

}  // namespace torch_aclnn::kernels
