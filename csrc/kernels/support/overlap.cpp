#include "kernels/support/overlap.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace torch_aclnn::kernels {
namespace {

// Views that only a list of all their elements tells apart are compared that way up to this size, and taken to overlap beyond it.
constexpr int64_t kMaxListed = int64_t{1} << 26;

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

// Each dimension steps over all that the shorter steps reach: then no element is met twice. The usual case, and quick.
bool steps_are_disjoint(const Extent& view) {
    int order[kMaxRank], count = 0;
    for (int d = view.rank - 1; d >= 0; --d)
        if (view.size[d] > 1) order[count++] = d;
    std::sort(order, order + count, [&](int a, int b) { return view.stride[a] < view.stride[b]; });
    int64_t reach = 0;
    for (int i = 0; i < count; ++i) {
        if (view.stride[order[i]] <= reach) return false;
        reach += (view.size[order[i]] - 1) * view.stride[order[i]];
    }
    return true;
}

// Calls `visit` with the address of each element until it returns true, and returns whether it did.
template <class Visit>
bool any_element(const Extent& view, Visit visit) {
    int64_t index[kMaxRank] = {};
    uintptr_t address = begin(view);
    for (;;) {
        if (visit(address)) return true;
        int d = view.rank - 1;
        for (; d >= 0; --d) {
            const uintptr_t step = static_cast<uintptr_t>(view.stride[d] * view.element_size);
            if (++index[d] < view.size[d]) {
                address += step;
                break;
            }
            address -= step * static_cast<uintptr_t>(view.size[d] - 1);
            index[d] = 0;
        }
        if (d < 0) return false;
    }
}

// The bytes from the view's first on, each marked once its element has been met.
class Marks {
   public:
    explicit Marks(const Extent& view) : begin_(begin(view)), marked_(end(view) - begin_) {}

    bool any(uintptr_t address, int64_t bytes) const {
        for (uintptr_t a = address; a < address + static_cast<uintptr_t>(bytes); ++a)
            if (a >= begin_ && a - begin_ < marked_.size() && marked_[a - begin_]) return true;
        return false;
    }
    void mark(uintptr_t address, int64_t bytes) {
        std::fill_n(marked_.begin() + static_cast<std::ptrdiff_t>(address - begin_), bytes, true);
    }

   private:
    uintptr_t begin_;
    std::vector<bool> marked_;
};

int64_t element_count(const Extent& view) {
    return std::accumulate(view.size, view.size + view.rank, int64_t{1}, std::multiplies<>());
}

bool is_short(const Extent& view) {
    return end(view) - begin(view) <= static_cast<uintptr_t>(kMaxListed) && element_count(view) <= kMaxListed;
}

}  // namespace

bool overlaps_itself(const Extent& view) {
    if (is_contiguous(view) || steps_are_disjoint(view)) return false;
    if (!is_short(view)) return true;
    Marks marks(view);
    return any_element(view, [&](uintptr_t address) {
        const bool met = marks.any(address, 1);
        marks.mark(address, view.element_size);
        return met;
    });
}

bool overlap(const Extent& a, const Extent& b) {
    if (end(a) <= begin(b) || end(b) <= begin(a)) return false;
    if (!is_short(a) || !is_short(b)) return true;
    Marks marks(a);
    (void)any_element(a, [&](uintptr_t address) {
        marks.mark(address, a.element_size);
        return false;
    });
    return any_element(b, [&](uintptr_t address) { return marks.any(address, b.element_size); });
}

}  // namespace torch_aclnn::kernels
