// A strided view of memory that somebody else owns.
#pragma once

#include <cstdint>

#include "kernels/dtype.h"

namespace torch_aclnn::kernels {

// `data` points at element (0, ..., 0); strides count elements. Kernels take a missing leading dimension as one of size 1.
template <int Rank>
struct View {
    void* data;
    DType dtype;
    int64_t size[Rank];
    int64_t stride[Rank];

    bool empty() const {
        for (int64_t s : size)
            if (s == 0) return true;
        return false;
    }
    int64_t bytes() const {
        int64_t count = element_size(dtype);
        for (int64_t s : size) count *= s;
        return count;
    }
};

// A result of this size would push everything else out of the caches, so it is written around them.
template <int Rank>
bool is_large(const View<Rank>& result) {
    constexpr int64_t kLarge = int64_t{8} << 20;
    return result.bytes() >= kLarge;
}

}  // namespace torch_aclnn::kernels
