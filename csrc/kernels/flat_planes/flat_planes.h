// Sums within planes that are small and without gaps: along one axis after the other, each cell over some cells of the source.
#pragma once

#include <algorithm>

#include "kernels/flat_planes/job.h"
#include "kernels/flat_planes/stages.h"
#include "kernels/support/cache.h"
#include "kernels/support/view.h"

namespace torch_aclnn::kernels {

// The tensors of a job. Where few channels are adjacent, all of them are a cell of `inner` numbers, and the views have one channel; strides
// count numbers.
template <int Rank>
struct FlatTensors {
    View<Rank> source, target;
    int64_t inner;

    // Whether a result is so large that tables of planes write it around the caches.
    bool streams() const { return exceeds_share_of_cache(target.bytes() * inner); }
    int64_t plane_count() const { return target.size[0] * target.size[1]; }
    // In numbers.
    int64_t plane_size() const { return size_of_plane(target); }
    int64_t size_of_plane(const View<Rank>& view) const {
        int64_t size = inner;
        for (int d = 2; d < Rank; ++d) size *= view.size[d];
        return size;
    }
    // The cells of a plane follow each other.
    bool has_dense_planes(const View<Rank>& view) const {
        int64_t expected = inner;
        for (int d = Rank - 1; d >= 2; expected *= view.size[d--])
            if (view.size[d] != 1 && view.stride[d] != expected) return false;
        return true;
    }
    // How many planes in a row have nothing between them: all of a tensor, those of a sample, or one.
    int64_t adjacent_planes(const View<Rank>& view) const {
        const int64_t samples = view.size[0], channels = view.size[1], size = size_of_plane(view);
        if (channels > 1 && view.stride[1] != size) return 1;
        return samples == 1 || view.stride[0] == channels * size ? samples * channels : channels;
    }
};

template <int Rank>
FlatTensors<Rank> flat_tensors(const View<Rank>& source, const View<Rank>& target) {
    constexpr int64_t kMaxChannels = 7;  // more fill vectors by themselves
    FlatTensors<Rank> tensors{source, target, 1};
    if (!channels_innermost(target) || source.stride[1] != 1 || target.size[1] > kMaxChannels) return tensors;
    tensors.inner = target.size[1];
    tensors.source.size[1] = tensors.target.size[1] = 1;
    return tensors;
}

// Whether there is a loop for this machine and type, and enough planes to pay for the tables, which serve all of them: min_planes, which
// depends on what else would be done.
bool suits_flat_planes(DType dtype, int64_t plane_count, int64_t plane_size, int64_t min_planes);

// The same of a job's tensors, whose planes have to be dense.
template <int Rank>
bool suits_flat_planes(const FlatTensors<Rank>& tensors, int64_t min_planes) {
    return tensors.has_dense_planes(tensors.source) && tensors.has_dense_planes(tensors.target) &&
           suits_flat_planes(tensors.target.dtype, tensors.plane_count(), tensors.plane_size(), min_planes);
}

// The job of a call, and the tables that it points to.
class FlatPlanes {
   public:
    // Of (N, C, ...) views of dense planes, with an axis for each dimension of a plane.
    template <int Rank>
    FlatPlanes(const FlatTensors<Rank>& tensors, const FlatAxis (&axes)[Rank - 2])
        : inner_(tensors.inner), plane_count_(tensors.plane_count()) {
        const View<Rank>&source = tensors.source, &target = tensors.target;
        job_.dtype = target.dtype;
        job_.source = source.data;
        job_.target = target.data;
        job_.stream = tensors.streams();
        job_.source_stride[0] = source.stride[0];
        job_.target_stride[0] = target.stride[0];
        plan(axes, Rank - 2, std::min(tensors.adjacent_planes(source), tensors.adjacent_planes(target)));
        job_.channels = target.size[1];
        int64_t samples = target.size[0];
        if (joined_ > 1 && job_.channels % joined_ != 0) {  // the planes of all samples follow each other
            job_.channels *= samples;
            samples = 1;
        }
        job_.channels /= joined_;
        job_.source_stride[1] = joined_ > 1 ? job_.source_size : source.stride[1];
        job_.target_stride[1] = joined_ > 1 ? job_.plane_size : target.stride[1];
        job_.source_end = job_.source_size + (samples - 1) * job_.source_stride[0] + (job_.channels - 1) * job_.source_stride[1];
    }
    // The job points into the plan.
    FlatPlanes(const FlatPlanes&) = delete;
    FlatPlanes& operator=(const FlatPlanes&) = delete;

    void run(int thread_count) const;

   private:
    void plan(const FlatAxis* axes, int count, int64_t adjacent);
    void divide_scratch();

    int64_t inner_;        // of a cell
    int64_t plane_count_;  // of the tensors
    int64_t joined_ = 1;   // how many of them that are adjacent make a plane of the job
    FlatStages stages_;
    FlatPlanesJob job_{};
};

}  // namespace torch_aclnn::kernels
