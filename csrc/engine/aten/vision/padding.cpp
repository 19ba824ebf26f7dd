// Padding. The paddings come last dimension first, two for each. The gradients of those that repeat elements are in libopapi.

#include "vocabulary/vision/padding_calls.h"

// The shape after padding. Refuses negative paddings that leave fewer than `least` elements in a dimension.
static Expected padded(const at::Tensor& self, at::IntArrayRef padding, int64_t least) {
    if (padding.size() % 2 != 0 || static_cast<int64_t>(padding.size()) > 2 * self.dim())
        refuse("padding", c10::str("two values for each of at most ", self.dim(), " dimensions"), std::to_string(padding.size()));
    Expected expected = like(self);
    for (size_t i = 0; i < padding.size(); i += 2) {
        int64_t& size = *(expected.sizes.end() - 1 - static_cast<int64_t>(i / 2));
        int64_t both = 0;
        if (__builtin_add_overflow(padding[i], padding[i + 1], &both) || __builtin_add_overflow(size, both, &size) || size < least)
            refuse("padding", c10::str("at least ", least == 0 ? "no" : "one", " element left of each dimension of shape ", self.sizes()),
                   c10::str(padding));
    }
    return expected;
}

// The input has channels and as many directions as there are pairs of paddings; there may be no batch. Only the batch may be empty.
static Expected replicated(const at::Tensor& self, at::IntArrayRef padding) {
    const Expected expected = padded(self, padding, 1);
    const auto directions = static_cast<int64_t>(padding.size() / 2);
    const bool batched = self.dim() == directions + 2;
    const at::IntArrayRef planes = self.sizes().slice(batched ? 1 : 0);
    if ((!batched && self.dim() != directions + 1) || std::find(planes.begin(), planes.end(), 0) != planes.end())
        refuse("self", c10::str(directions + 1, " or ", directions + 2, " dimensions, of which only the batch may be empty"),
               shape_text(self.sizes()));
    return expected;
}

// A reflection repeats each element at most once, and not the one at the edge. A circle leaves one out as well.
static Expected reflected(const at::Tensor& self, at::IntArrayRef padding) {
    const Expected expected = replicated(self, padding);
    for (size_t i = 0; i < padding.size(); i++) {
        const int64_t size = self.size(-1 - static_cast<int64_t>(i / 2));
        if (padding[i] >= size) refuse("padding", c10::str("values below self's size of ", size), c10::str(padding[i]));
    }
    return expected;
}

// A negative padding leaves a part of a direction, of which the other padding is the circle. ATen repeats memory that it has not written
// where the circle is shorter.
static Expected wrapped(const at::Tensor& self, at::IntArrayRef padding) {
    const Expected expected = reflected(self, padding);
    for (size_t i = 0; i < padding.size(); i += 2) {
        const auto [low, high] = std::minmax(padding[i], padding[i + 1]);
        const int64_t left = self.size(-1 - static_cast<int64_t>(i / 2)) + std::min<int64_t>(low, 0);
        if (low < 0 && high > left)
            refuse("padding", c10::str("at most the ", left, " elements that the other padding leaves"), c10::str(high));
    }
    return expected;
}
