// Padding. The paddings come last dimension first, two for each. The gradients of those that repeat elements are in libopapi.
#include <ATen/ATen.h>

#include "engine/aten/adapter/adapter.h"
#include "engine/aten/adapter/results.h"

#define ATEN_FAMILY "padding"
using namespace torch_aclnn::host::aten;

#define PAD(entry_point, dtypes, values, require, function)                                                               \
    ATEN_CHECKED_ENTRY(entry_point, dtypes, require(padding, self), (In, self), (Exactly<values>, padding), (Out, out)) { \
        write(out, function(self, padding));                                                                              \
    }

namespace {

void require_paddings(at::IntArrayRef padding, const at::Tensor& self) {
    if (padding.size() % 2 != 0 || static_cast<int64_t>(padding.size()) > 2 * self.dim())
        torch_aclnn::host::refuse("padding", c10::str("two values for each of at most ", self.dim(), " dimensions"),
                                  std::to_string(padding.size()));
}

// The dimensions that are padded are there, and something is left of each.
void require_room(at::IntArrayRef padding, const at::Tensor& self) {
    require_paddings(padding, self);
    for (size_t i = 0; i < padding.size(); i += 2)
        if (self.size(-1 - static_cast<int64_t>(i / 2)) + padding[i] + padding[i + 1] < 1)
            torch_aclnn::host::refuse("padding", c10::str("at least one element left of each dimension of shape ", self.sizes()),
                                      c10::str(padding));
}

// A reflection has each element at most once, and not the one at the edge.
void require_reflection(at::IntArrayRef padding, const at::Tensor& self) {
    require_room(padding, self);
    for (size_t i = 0; i < padding.size(); i++) {
        const int64_t size = self.size(-1 - static_cast<int64_t>(i / 2));
        if (padding[i] >= size) torch_aclnn::host::refuse("padding", c10::str("values below self's size of ", size), c10::str(padding[i]));
    }
}

}  // namespace

PAD(aclnnReplicationPad1d, NUMBERS, 2, require_room, at::replication_pad1d)
PAD(aclnnReplicationPad2d, NUMBERS, 4, require_room, at::replication_pad2d)
PAD(aclnnReplicationPad3d, NUMBERS, 6, require_room, at::replication_pad3d)
PAD(aclnnReflectionPad1d, NUMBERS, 2, require_reflection, at::reflection_pad1d)
PAD(aclnnReflectionPad2d, NUMBERS, 4, require_reflection, at::reflection_pad2d)
PAD(aclnnReflectionPad3d, NUMBERS, 6, require_reflection, at::reflection_pad3d)

ATEN_CHECKED_ENTRY(aclnnConstantPadNd, NUMBERS, require_paddings(padding, self), (In, self), (Ints, padding), (Scalar, value), (Out, out)) {
    write(out, at::constant_pad_nd(self, padding, value));
}
