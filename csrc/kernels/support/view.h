// A strided view of memory that somebody else owns.
#pragma once

#include "kernels/support/dtype.h"

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
    // Nearly always true, but a tensor may begin at any address.
    bool is_aligned() const { return reinterpret_cast<uintptr_t>(data) % element_size(dtype) == 0; }
    int64_t element_count() const {
        int64_t count = 1;
        for (int64_t s : size) count *= s;
        return count;
    }
    int64_t bytes() const { return element_count() * element_size(dtype); }
};

// Returns true if channels (dimension 1) lie `cell` elements apart, as neighbours, and the last dimension does not: lanes shall then be
// channels.
template <int Rank>
bool channels_innermost(const View<Rank>& view, int64_t cell = 1) {
    return view.size[1] > 1 && view.stride[1] == cell && view.stride[Rank - 1] != cell;
}

}  // namespace torch_aclnn::kernels
