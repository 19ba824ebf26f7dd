// Whether strided views share memory.
#pragma once

#include "kernels/support/api.h"
#include "kernels/support/view.h"

namespace torch_aclnn::kernels {

constexpr int kMaxRank = 16;

// A view of at most kMaxRank dimensions and any element type. Strides count elements and are not negative; no size is 0.
struct Extent {
    const void* data;
    int64_t element_size;
    int rank;
    const int64_t* size;
    const int64_t* stride;
};

template <int Rank>
Extent extent(const View<Rank>& view) {
    return {view.data, element_size(view.dtype), Rank, view.size, view.stride};
}

// Returns true if two indices lead to the same element.
TORCH_ACLNN_KERNELS_API bool overlaps_itself(const Extent& view);

// Returns true if an element of one shares a byte with an element of the other.
TORCH_ACLNN_KERNELS_API bool overlap(const Extent& a, const Extent& b);

}  // namespace torch_aclnn::kernels
