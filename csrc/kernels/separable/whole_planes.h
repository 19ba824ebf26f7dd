// Planes and volumes that are small and without gaps, for loops that take them as a whole.
#pragma once

#include "kernels/separable/problem.h"
#include "kernels/support/cache.h"

namespace torch_aclnn::kernels {

// The tensors of a problem. Where few channels are adjacent, all of them are a cell of `inner` numbers, and the views have one channel;
// strides count numbers.
struct WholePlanes {
    explicit WholePlanes(const Problem& problem);

    // Whether sums are float, planes are dense, and there is no complex number.
    bool are_suitable() const;
    // Whether a result is so large that tables of planes write it around the caches.
    bool streams() const { return exceeds_share_of_cache(target.bytes() * inner); }
    int64_t count() const { return target.size[0] * target.size[1]; }
    int64_t size() const { return size_of(target); }
    int64_t size_of(const View<5>& view) const { return inner * view.size[2] * view.size[3] * view.size[4]; }
    // How many planes in a row have nothing between them: all of a tensor, those of a sample, or one.
    int64_t adjacent(const View<5>& view) const;

    View<5> source, target;
    int64_t inner = 1;
    bool is_complex;
};

// The axes of a plane, and their scales.
class PlaneAxes {
   public:
    explicit PlaneAxes(const Problem& problem);
    // The axes point into the object.
    PlaneAxes(const PlaneAxes&) = delete;
    PlaneAxes& operator=(const PlaneAxes&) = delete;

    const AxisTable* begin() const { return axes_ + (3 - count_); }
    int count() const { return count_; }

   private:
    std::array<std::vector<float>, 3> scales_;
    AxisTable axes_[3];
    int count_;  // the number of dimensions, without a trivial depth
};

// Returns the product of a size of some axes.
inline int64_t product(const AxisTable* begin, const AxisTable* end, int64_t AxisTable::* size) {
    int64_t count = 1;
    for (const AxisTable* axis = begin; axis < end; ++axis) count *= axis->*size;
    return count;
}

}  // namespace torch_aclnn::kernels
