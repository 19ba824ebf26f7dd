// Walks over the rows [begin, end) of the planes of a tensor, counted over n, c, d, h.
#pragma once

#include "kernels/simd/lanes.h"

namespace torch_aclnn::kernels::KERNEL_ISA {

// Calls body(source, target, d, h, h_end) for each plane of `height` rows: where its volume begins in `out`, where it begins in `in`, its
// depth, and which of its rows to do.
template <class T, class Body>
inline void for_planes(const View<5>& out, const View<5>& in, int64_t height, int64_t begin, int64_t end, const Body& body) {
    const int64_t channels = in.size[1], depth = in.size[2];
    int64_t h = begin % height, d = begin / height % depth, c = begin / height / depth % channels, n = begin / height / depth / channels;
    for (int64_t left = end - begin; left > 0; h = 0) {
        const int64_t h_end = smaller(height, h + left);
        body(static_cast<const T*>(out.data) + n * out.stride[0] + c * out.stride[1],
             static_cast<T*>(in.data) + n * in.stride[0] + c * in.stride[1] + d * in.stride[2], d, h, h_end);
        left -= h_end - h;
        if (++d < depth) continue;
        d = 0;
        if (++c == channels) c = 0, ++n;
    }
}

}  // namespace torch_aclnn::kernels::KERNEL_ISA
