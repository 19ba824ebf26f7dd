// Which tensors the caches hold.
#pragma once

#include "kernels/support/view.h"

namespace torch_aclnn::kernels {

// Returns the bytes of the last of this machine's caches, at least 8 MiB, which it also is where the system does not tell.
int64_t last_cache_bytes();

// Other tensors of a call and other programs use a part of the last cache. A tensor that is large does not stay there from call to call: it
// is read from memory, and a result is written around the caches, because it would push out the rest.
inline bool is_large(int64_t bytes) {
    return 8 * bytes > 5 * last_cache_bytes();
}
template <int Rank>
bool is_large(const View<Rank>& tensor) {
    return is_large(tensor.bytes());
}

// A tensor of this size may have to be read from memory.
inline bool exceeds_share_of_cache(int64_t bytes) {
    return 8 * bytes > 3 * last_cache_bytes();
}
template <int Rank>
bool exceeds_share_of_cache(const View<Rank>& tensor) {
    return exceeds_share_of_cache(tensor.bytes());
}

}  // namespace torch_aclnn::kernels
