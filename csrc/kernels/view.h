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
};

}  // namespace torch_aclnn::kernels
