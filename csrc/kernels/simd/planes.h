// Walks over the rows [begin, end) of the planes of a job.
#pragma once

#include "kernels/simd/lanes.h"

namespace torch_aclnn::kernels::KERNEL_ISA {

// Calls body(source, target, h_begin, h_end) for each plane: where it begins in grad_output and grad_input, and which of its rows to do.
template <class T, class Job, class Body>
inline void for_planes(const Job& job, int64_t begin, int64_t end, const Body& body) {
    const View<4>&out = job.grad_output, &in = job.grad_input;
    const int64_t height = job.rows.in, channels = in.size[1];
    int64_t n = begin / height / channels, c = begin / height % channels, h = begin % height;
    for (int64_t left = end - begin; left > 0;) {
        const int64_t h_end = smaller(height, h + left);
        body(static_cast<const T*>(out.data) + n * out.stride[0] + c * out.stride[1],
             static_cast<T*>(in.data) + n * in.stride[0] + c * in.stride[1], h, h_end);
        left -= h_end - h;
        h = 0;
        if (++c == channels) c = 0, ++n;
    }
}

}  // namespace torch_aclnn::kernels::KERNEL_ISA
