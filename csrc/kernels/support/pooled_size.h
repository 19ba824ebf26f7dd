// The sizes that the forward of pooling takes and gives.
#pragma once

#include <algorithm>
#include <cstdint>

namespace torch_aclnn::kernels {

// The smallest padded size, in + 2 * padding, that holds a window; with ceil_mode a partial one will do.
inline int64_t smallest_padded_size(int64_t kernel, int64_t stride, bool ceil_mode) {
    return std::max<int64_t>(ceil_mode ? kernel - stride + 1 : kernel, 1);
}

// The size that the forward gives for such an input, as a plain or a symbolic integer. With ceil_mode a last, partial window counts if
// it starts inside the input or the padding before it.
template <class Int>
Int pooled_size(const Int& in, int64_t kernel, int64_t stride, int64_t padding, bool ceil_mode) {
    const Int size = (in + 2 * padding - kernel + (ceil_mode ? stride - 1 : 0)) / stride + 1;
    if (ceil_mode && (size - 1) * stride >= in + padding) return size - 1;
    return size;
}

}  // namespace torch_aclnn::kernels
