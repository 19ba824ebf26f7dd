// Sums within planes that are small and without gaps, a lane for each of several planes.
#pragma once

#include <vector>

#include "kernels/flat_planes/flat_planes.h"
#include "kernels/transposed_planes/cell_sums.h"
#include "kernels/transposed_planes/job.h"

namespace torch_aclnn::kernels {

// How many planes are made at once: those whose tiles fill vectors.
inline int64_t lanes_of(DType dtype) {
    return 32 / element_size(dtype);
}

// Whether there is a loop for this machine and type.
bool has_transposed_planes(DType dtype);

// Whether the planes of a group that is made at once do not push each other out of the first cache.
bool spreads_over_cache(DType dtype, int64_t plane_size);

// Whether there is, planes are dense and suit the caches, and there are enough of them to pay for the plan: min_planes, which depends on
// what else would be done.
template <int Rank>
bool suits_transposed_planes(const FlatTensors<Rank>& tensors, int64_t min_planes) {
    constexpr int64_t kMaxPlane = 10240;  // whose cells the second cache holds
    const DType dtype = tensors.target.dtype;
    const auto suits = [&](const View<Rank>& view) {
        return tensors.has_dense_planes(view) && spreads_over_cache(dtype, tensors.size_of_plane(view));
    };
    return tensors.plane_count() >= min_planes && tensors.plane_size() <= kMaxPlane && has_transposed_planes(dtype) &&
           suits(tensors.source) && suits(tensors.target);
}

// The job of a call, and the tables that it points to.
class TransposedPlanes {
   public:
    // Of (N, C, ...) views of dense planes, with an axis for each dimension of a plane.
    template <int Rank>
    TransposedPlanes(const FlatTensors<Rank>& tensors, const FlatAxis (&axes)[Rank - 2])
        : plan_(axes, Rank - 2, tensors.inner, lanes_of(tensors.target.dtype)) {
        const View<Rank>&source = tensors.source, &target = tensors.target;
        job_.dtype = target.dtype;
        job_.source = source.data;
        job_.target = target.data;
        job_.planes = tensors.plane_count();
        job_.channels = target.size[1];
        for (int d = 0; d < 2; ++d) {
            job_.source_stride[d] = source.stride[d];
            job_.target_stride[d] = target.stride[d];
        }
        job_.source_size = tensors.size_of_plane(source);
        job_.target_size = tensors.size_of_plane(target);
        job_.source_end = job_.source_size + (source.size[0] - 1) * source.stride[0] + (source.size[1] - 1) * source.stride[1];
        finish(tensors.adjacent_planes(source));
    }
    // The job points into the plan.
    TransposedPlanes(const TransposedPlanes&) = delete;
    TransposedPlanes& operator=(const TransposedPlanes&) = delete;

    void run(int thread_count) const;

   private:
    void finish(int64_t adjacent);

    CellSumsPlan plan_;
    std::vector<CellSums> sums_;
    TransposedPlanesJob job_{};
};

}  // namespace torch_aclnn::kernels
