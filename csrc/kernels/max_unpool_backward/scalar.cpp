// Max unpooling backward, one element at a time.
#include "kernels/max_unpool_backward/job.h"
#include "kernels/scalar/position.h"

namespace torch_aclnn::kernels::scalar {

template <class Bits>
static FirstBad gather(const MaxUnpoolJob& job, int64_t begin, int64_t end) {
    FirstBad first_bad{-1, 0};
    for (int64_t element = begin; element < end; ++element) {
        const Position at(job.loop, element);
        const int64_t index = static_cast<const int64_t*>(job.indices.data)[at.offset(job.indices.stride)];
        const int64_t column = index % job.plane_width, row = index / job.plane_width % job.plane_height;
        const int64_t depth = index / job.plane_width / job.plane_height;
        const bool inside = index >= 0 && index < job.plane_size;
        Bits value{};
        if (inside)
            value = static_cast<const Bits*>(job.plane.data)[at.offset(job.plane.stride) + depth * job.plane_stride[0] +
                                                             row * job.plane_stride[1] + column * job.plane_stride[2]];
        static_cast<Bits*>(job.out.data)[at.offset(job.out.stride)] = value;
        const int64_t linear = at.offset(job.logical_stride);
        if (!inside && (first_bad.linear < 0 || linear < first_bad.linear)) first_bad = {linear, index};
    }
    return first_bad;
}

FirstBad max_unpool(const MaxUnpoolJob& job, int64_t begin, int64_t end) {
    switch (job.element_size) {
        case 1: return gather<uint8_t>(job, begin, end);
        case 2: return gather<uint16_t>(job, begin, end);
        case 4: return gather<uint32_t>(job, begin, end);
        default: return gather<uint64_t>(job, begin, end);
    }
}

}  // namespace torch_aclnn::kernels::scalar
