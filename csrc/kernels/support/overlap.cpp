#include "kernels/support/overlap.h"

#include <algorithm>

namespace torch_aclnn::kernels {
namespace {

// After this number of steps the search ends, and the views are taken to overlap. Only strides with few common factors need as many.
constexpr int kMaxSteps = 1 << 16;

uintptr_t begin(const Extent& view) {
    return reinterpret_cast<uintptr_t>(view.data);
}

uintptr_t end(const Extent& view) {
    int64_t last = 0;
    for (int d = 0; d < view.rank; ++d) last += (view.size[d] - 1) * view.stride[d];
    return begin(view) + static_cast<uintptr_t>((last + 1) * view.element_size);
}

bool is_contiguous(const Extent& view) {
    int64_t expected = 1;
    for (int d = view.rank - 1; d >= 0; --d) {
        if (view.size[d] == 1) continue;
        if (view.stride[d] != expected) return false;
        expected *= view.size[d];
    }
    return true;
}

int64_t floor_of_quotient(int64_t a, int64_t b) {
    return a / b - (a % b < 0 ? 1 : 0);
}

// Sums of a number and of multiples of strides, where each multiple has a lower and an upper bound.
class Sums {
   public:
    // Keeps the strides from the largest to the smallest.
    void add(int64_t stride, int64_t least, int64_t most) {
        int i = 0;
        while (i < count_ && terms_[i].stride > stride) ++i;
        if (i < count_ && terms_[i].stride == stride) {
            terms_[i].least += least;
            terms_[i].most += most;
            return;
        }
        std::copy_backward(terms_ + i, terms_ + count_, terms_ + count_ + 1);
        terms_[i] = {stride, least, most};
        ++count_;
    }

    // Whether one of them is at least `lowest` and at most `highest`.
    bool reach(int64_t number, int64_t lowest, int64_t highest) {
        least_[count_] = most_[count_] = 0;
        for (int i = count_; i-- > 0;) {
            least_[i] = least_[i + 1] + terms_[i].stride * terms_[i].least;
            most_[i] = most_[i + 1] + terms_[i].stride * terms_[i].most;
        }
        return reach_from(0, number, lowest, highest);
    }

   private:
    struct Term {
        int64_t stride, least, most;
    };

    // Only those multiples count from which the smaller strides can reach the interval: mostly one or two.
    bool reach_from(int i, int64_t number, int64_t lowest, int64_t highest) {
        if (number + most_[i] < lowest || number + least_[i] > highest) return false;
        if (i == count_ || ++steps_ > kMaxSteps) return true;
        const auto [stride, least, most] = terms_[i];
        const int64_t first = std::max(least, -floor_of_quotient(number + most_[i + 1] - lowest, stride));
        const int64_t last = std::min(most, floor_of_quotient(highest - number - least_[i + 1], stride));
        for (int64_t times = first; times <= last; ++times)
            if (reach_from(i + 1, number + stride * times, lowest, highest)) return true;
        return false;
    }

    Term terms_[2 * kMaxRank];
    int64_t least_[2 * kMaxRank + 1], most_[2 * kMaxRank + 1];  // the range of the sum of the terms from each one on
    int count_ = 0, steps_ = 0;
};

}  // namespace

bool overlaps_itself(const Extent& view) {
    if (is_contiguous(view)) return false;
    int order[kMaxRank], count = 0;
    for (int d = 0; d < view.rank; ++d)
        if (view.size[d] > 1) order[count++] = d;
    std::sort(order, order + count, [&](int a, int b) { return view.stride[a] > view.stride[b]; });
    if (count > 0 && view.stride[order[count - 1]] == 0) return true;
    // Two indices that differ in one of the dimensions make up for it in those of smaller strides.
    for (int i = 0; i < count; ++i) {
        if (i + 1 < count && view.stride[order[i]] == view.stride[order[i + 1]]) return true;
        Sums differences;
        differences.add(view.stride[order[i]], 1, view.size[order[i]] - 1);
        for (int j = i + 1; j < count; ++j) differences.add(view.stride[order[j]], 1 - view.size[order[j]], view.size[order[j]] - 1);
        if (differences.reach(0, 0, 0)) return true;
    }
    return false;
}

bool overlap(const Extent& a, const Extent& b) {
    if (end(a) <= begin(b) || end(b) <= begin(a)) return false;
    Sums differences;
    for (int d = 0; d < a.rank; ++d)
        if (a.size[d] > 1 && a.stride[d] > 0) differences.add(a.stride[d] * a.element_size, 1 - a.size[d], 0);
    for (int d = 0; d < b.rank; ++d)
        if (b.size[d] > 1 && b.stride[d] > 0) differences.add(b.stride[d] * b.element_size, 0, b.size[d] - 1);
    return differences.reach(static_cast<int64_t>(begin(b) - begin(a)), 1 - b.element_size, a.element_size - 1);
}

}  // namespace torch_aclnn::kernels
