// Sums within planes that are small and without gaps, a lane for each of several planes.

#include "kernels/separable/cell_sums.h"
#include "kernels/separable/stages.h"
#include "kernels/separable/strategies.h"
#include "kernels/simd/isa.h"
#include "kernels/support/parallel.h"
#include "kernels/support/scratch.h"

namespace torch_aclnn::kernels {
namespace {

using namespace thresholds;

// Machines with AVX-512 have AVX2 too.
TransposedPlanesLoop* transposed_planes_of_machine() {
#if defined(__x86_64__) && !defined(TORCH_ACLNN_SCALAR_ONLY)
    if (isa() >= Isa::avx2) return avx2::transposed_planes;
#endif
    return nullptr;
}

// How many planes are made at once: those whose tiles fill vectors.
int64_t lanes_of(DType dtype) {
    return 32 / element_size(dtype);
}

// Whether the planes of a group that is made at once do not push each other out of the first cache: those a power of two apart share parts
// of it.
bool spreads_over_cache(DType dtype, int64_t plane_size) {
    constexpr int64_t kWays = 8, kBytesPerWay = 4096;  // the first cache of most machines
    const int64_t bytes = plane_size * element_size(dtype), power_of_two = bytes & -bytes;
    return lanes_of(dtype) * std::min(power_of_two, kBytesPerWay) <= kWays * kBytesPerWay;
}

bool transposed_streams(int64_t plane_bytes, int64_t planes) {
    return plane_bytes >= kTransposedStreamMinBytes && plane_bytes <= kTransposedStreamMaxBytes &&
           exceeds_share_of_cache(planes * plane_bytes);
}

// The job of a call, and the tables that it points to.
class TransposedPlanes {
   public:
    TransposedPlanes(const WholePlanes& planes, const PlaneAxes& axes)
        : plan_(axes.begin(), axes.count(), planes.inner, lanes_of(planes.target.dtype)), sums_(plan_.sums()) {
        constexpr int64_t kTileBytes = 16, kMaxPrefetch = 16384;  // half of the first cache
        const View<5>&source = planes.source, &target = planes.target;
        const int64_t lanes = lanes_of(target.dtype), size = element_size(target.dtype);
        job_.dtype = target.dtype;
        job_.source = source.data;
        job_.target = target.data;
        job_.planes = planes.count();
        job_.channels = target.size[1];
        for (int d = 0; d < 2; ++d) {
            job_.source_stride[d] = source.stride[d];
            job_.target_stride[d] = target.stride[d];
        }
        job_.source_size = planes.size_of(source);
        job_.target_size = planes.size();
        job_.source_end = job_.source_size + (source.size[0] - 1) * source.stride[0] + (source.size[1] - 1) * source.stride[1];
        job_.sums = sums_.data();
        job_.sum_count = static_cast<int64_t>(sums_.size());
        job_.result = plan_.result().data();
        job_.cell_bytes = plan_.cell_count() * lanes * static_cast<int64_t>(sizeof(float));
        job_.plane_bytes = round_to_lines(lanes * kTileBytes);
        job_.prefetch = planes.adjacent(source) >= lanes && lanes * job_.source_size * size <= kMaxPrefetch;
        job_.stream = transposed_streams(job_.target_size * size, job_.planes);
        job_.sink_bytes = sink_bytes(lanes * job_.target_size * size);
    }
    // The job points into the plan.
    TransposedPlanes(const TransposedPlanes&) = delete;
    TransposedPlanes& operator=(const TransposedPlanes&) = delete;

    void run(int thread_count) const {
        const int64_t lanes = lanes_of(job_.dtype), groups = (job_.planes + lanes - 1) / lanes;
        int64_t cost_of_plane = job_.source_size + job_.target_size;
        for (const CellSums& sums : sums_) cost_of_plane += sums.count * sums.terms;
        parallel_for(groups, lanes * cost_of_plane, thread_count, [&](int64_t begin, int64_t end) {
            Scratch scratch(job_.cell_bytes + job_.plane_bytes + job_.sink_bytes);
            transposed_planes_of_machine()(job_, begin, end, scratch.data());
        });
    }

   private:
    CellSumsPlan plan_;
    std::vector<CellSums> sums_;
    TransposedPlanesJob job_{};
};

bool transposed_pays_for_padding(const Problem& problem, const WholePlanes& planes) {
    if (planes.count() < std::max(kTransposedPaddedPlanes, planes.size() / kTransposedPaddedNumbersPerPlane)) return false;
    const Axis& columns = problem.columns();
    const bool is_long = columns.in() * element_size(problem.dtype()) >= kTransposedLongRowBytes;
    return !(is_long && has_wide_gather() && columns.sum_count() < kManySums);
}

bool transposed_pays_for_volumes(const Problem& problem, const WholePlanes& planes) {
    if (planes.count() < std::max(kTransposedVolumes, planes.size() / kTransposedNumbersPerPlane)) return false;
    if (!has_wide_gather()) return true;
    const bool overlap = problem.depth().overlap() || problem.rows().overlap() || problem.columns().overlap();
    if (planes.size() <= kTransposedTableVolume && !overlap) return false;
    return problem.depth().in() < kTransposedManyCopies * problem.depth().run_count();
}

bool transposed_pays_for_planes(const Problem& problem, const WholePlanes& planes) {
    const int64_t size = planes.size(), source_size = planes.size_of(planes.source);
    const bool slides = problem.spec(2).slides() && has_loop_of_steps(problem.spec(2));
    if (size > kTransposedMaxWindow * source_size || (slides && size > kTransposedSlidingMaxPlane)) return false;
    if (planes.count() < std::max(slides ? kTransposedSlidingPlanes : kTransposedPlanes, size / kTransposedNumbersPerPlane)) return false;
    const bool share_no_cell = !problem.rows().overlap() && !problem.columns().overlap();
    if (!share_no_cell) return true;
    if (size == source_size && planes.target.size[4] <= kTransposedRowOfCopies) return false;
    return !has_wide_gather() || size > (planes.streams() ? kTransposedStreamedTablePlane : kTransposedTablePlane);
}

}  // namespace

bool can_transposed(const Problem& problem) {
    const WholePlanes planes(problem);
    return transposed_planes_of_machine() != nullptr && planes.are_suitable() && planes.size() <= kTransposedMaxPlane;
}

bool pays_transposed(const Problem& problem) {
    const WholePlanes planes(problem);
    if (!spreads_over_cache(problem.dtype(), planes.size()) || !spreads_over_cache(problem.dtype(), planes.size_of(planes.source)))
        return false;
    if (!problem.pools()) return transposed_pays_for_padding(problem, planes);
    return problem.has_volumes() ? transposed_pays_for_volumes(problem, planes) : transposed_pays_for_planes(problem, planes);
}

void run_transposed(const Problem& problem, int thread_count) {
    const PlaneAxes axes(problem);
    TransposedPlanes(WholePlanes(problem), axes).run(thread_count);
}

}  // namespace torch_aclnn::kernels
