#include "kernels/separable/whole_planes.h"

namespace torch_aclnn::kernels {

WholePlanes::WholePlanes(const Problem& problem) : source(problem.source), target(problem.target), is_complex(problem.inner > 1) {
    if (is_complex || !has_adjacent_channels(problem) || target.size[1] > thresholds::kPlaneMaxChannels) return;
    inner = target.size[1];
    source.size[1] = target.size[1] = 1;
}

bool WholePlanes::are_suitable() const {
    return has_float_sums(target.dtype) && !is_complex && is_dense(source, inner) && is_dense(target, inner);
}

int64_t WholePlanes::adjacent(const View<5>& view) const {
    const int64_t samples = view.size[0], channels = view.size[1], plane = size_of(view);
    if (channels > 1 && view.stride[1] != plane) return 1;
    return samples == 1 || view.stride[0] == channels * plane ? samples * channels : channels;
}

PlaneAxes::PlaneAxes(const Problem& problem) : count_(problem.has_volumes() ? 3 : 2) {
    if (problem.pools()) scales_ = problem.scales<float>();
    for (int d = 0; d < 3; ++d) axes_[d] = problem.axis(d).table(scales_[d].empty() ? nullptr : scales_[d].data());
}

}  // namespace torch_aclnn::kernels
