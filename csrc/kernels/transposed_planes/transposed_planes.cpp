#include "kernels/transposed_planes/transposed_planes.h"

#include <numeric>

#include "kernels/simd/isa.h"
#include "kernels/support/cache.h"
#include "kernels/support/parallel.h"
#include "kernels/support/scratch.h"

namespace torch_aclnn::kernels {
namespace {

// Machines with AVX-512 have AVX2 too.
TransposedPlanesLoop* transposed_planes_of_machine() {
#if defined(__x86_64__) && !defined(TORCH_ACLNN_SCALAR_ONLY)
    if (isa() >= Isa::avx2) return avx2::transposed_planes;
#endif
    return nullptr;
}

// Lines that are written are read from memory before, unless they go around the caches. A machine by itself reads ahead where addresses
// follow each other closely, as those of very small planes do, and in few pages of memory at once, as large planes are; between the two,
// writing waits.
bool streams(int64_t plane_bytes, int64_t planes) {
    constexpr int64_t kMinPlaneBytes = 128, kMaxPlaneBytes = 2048;
    return plane_bytes >= kMinPlaneBytes && plane_bytes <= kMaxPlaneBytes && exceeds_share_of_cache(planes * plane_bytes);
}

}  // namespace

bool has_transposed_planes(DType dtype) {
    return transposed_planes_of_machine() != nullptr && has_float_sums(dtype);
}

bool spreads_over_cache(DType dtype, int64_t plane_size) {
    constexpr int64_t kWays = 8, kBytesPerWay = 4096;  // of most machines
    const int64_t distance = std::gcd(plane_size * element_size(dtype), kBytesPerWay);
    return lanes_of(dtype) * distance <= kWays * kBytesPerWay;
}

void TransposedPlanes::finish(int64_t adjacent) {
    constexpr int64_t kTileBytes = 16, kMaxPrefetch = 16384;  // half of the first cache
    const int64_t lanes = lanes_of(job_.dtype), size = element_size(job_.dtype);
    sums_ = plan_.sums();
    job_.sums = sums_.data();
    job_.sum_count = static_cast<int64_t>(sums_.size());
    job_.result = plan_.result().data();
    job_.cell_bytes = plan_.cell_count() * lanes * static_cast<int64_t>(sizeof(float));
    job_.plane_bytes = round_to_lines(lanes * kTileBytes);
    job_.prefetch = adjacent >= lanes && lanes * job_.source_size * size <= kMaxPrefetch;
    job_.stream = streams(job_.target_size * size, job_.planes);
    job_.sink_bytes = sink_bytes(lanes * job_.target_size * size);
}

void TransposedPlanes::run(int thread_count) const {
    const int64_t lanes = lanes_of(job_.dtype), groups = (job_.planes + lanes - 1) / lanes;
    int64_t cost_of_plane = job_.source_size + job_.target_size;
    for (const CellSums& sums : sums_) cost_of_plane += sums.count * sums.terms;
    parallel_for(groups, lanes * cost_of_plane, thread_count, [&](int64_t begin, int64_t end) {
        Scratch scratch(job_.cell_bytes + job_.plane_bytes + job_.sink_bytes);
        transposed_planes_of_machine()(job_, begin, end, scratch.data());
    });
}

}  // namespace torch_aclnn::kernels
