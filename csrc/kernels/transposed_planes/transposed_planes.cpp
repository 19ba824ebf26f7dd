#include "kernels/transposed_planes/transposed_planes.h"

#include <algorithm>

#include "kernels/simd/isa.h"
#include "kernels/support/parallel.h"
#include "kernels/support/scratch.h"

namespace torch_aclnn::kernels {
namespace {

TransposedPlanesLoop* loop_of_machine() {
#if defined(__x86_64__) && !defined(TORCH_ACLNN_SCALAR_ONLY)
    if (isa() == Isa::avx2) return avx2::transposed_planes;
#endif
    return nullptr;
}

}  // namespace

bool has_transposed_planes(DType dtype) {
    return loop_of_machine() != nullptr && has_float_sums(dtype);
}

void TransposedPlanes::finish() {
    constexpr int64_t kTileBytes = 16;
    const int64_t lanes = gather_lanes(), size = element_size(job_.dtype);
    sums_ = plan_.sums();
    job_.sums = sums_.data();
    job_.sum_count = static_cast<int64_t>(sums_.size());
    job_.result = plan_.result().data();
    job_.cell_bytes = plan_.cell_count() * lanes * static_cast<int64_t>(sizeof(float));
    job_.plane_bytes = round_to_lines(lanes * kTileBytes);
    job_.sink_bytes = sink_bytes(lanes * job_.target_size * size);
}

void TransposedPlanes::run(int thread_count) const {
    const int64_t lanes = gather_lanes(), groups = (job_.planes + lanes - 1) / lanes;
    const int64_t cost = lanes * (job_.source_size + job_.target_size + plan_.term_count());
    parallel_for(groups, cost, thread_count, [&](int64_t begin, int64_t end) {
        Scratch scratch(job_.cell_bytes + job_.plane_bytes + job_.sink_bytes);
        loop_of_machine()(job_, begin, end, scratch.data());
    });
}

}  // namespace torch_aclnn::kernels
