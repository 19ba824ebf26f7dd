// Walks over the rows of the planes of a job, one after the other.
#pragma once

#include "kernels/support/view.h"

namespace torch_aclnn::kernels::scalar {

// Calls body(plane, row, h) for each of the rows [begin, end): where its plane begins in grad_output, and it in grad_input.
template <class T, class Job, class Body>
void for_rows(const Job& job, int64_t begin, int64_t end, const Body& body) {
    const View<4>&in = job.grad_input, &out = job.grad_output;
    for (int64_t row = begin; row < end; ++row) {
        const int64_t h = row % job.rows.in, c = row / job.rows.in % in.size[1], n = row / job.rows.in / in.size[1];
        body(static_cast<const T*>(out.data) + n * out.stride[0] + c * out.stride[1],
             static_cast<T*>(in.data) + n * in.stride[0] + c * in.stride[1] + h * in.stride[2], h);
    }
}

}  // namespace torch_aclnn::kernels::scalar
