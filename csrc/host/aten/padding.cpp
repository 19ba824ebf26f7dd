// Padding. The paddings come last dimension first. The 2D backward of replication is an operator of its own, in libopapi.
#include <ATen/ATen.h>

#include "host/aten/adapter.h"
#include "host/aten/results.h"

using namespace torch_aclnn::host::aten;

#define PAD(entry_point, dtypes, function)                                     \
    ATEN_ENTRY(entry_point, dtypes, (In, self), (Ints, padding), (Out, out)) { \
        write(out, function(self, padding));                                   \
    }
// Elements that went to several places gather several gradients.
#define PAD_BACKWARD(entry_point, dtypes, function)                                                    \
    ATEN_ENTRY(entry_point, dtypes, (In, gradOutput), (In, self), (Ints, padding), (Out, gradInput)) { \
        write(gradInput, function(wide(gradOutput), wide(self), padding));                             \
    }

PAD(aclnnReplicationPad1d, NUMBERS, at::replication_pad1d)
PAD(aclnnReplicationPad2d, NUMBERS, at::replication_pad2d)
PAD(aclnnReplicationPad3d, NUMBERS, at::replication_pad3d)
PAD(aclnnReflectionPad1d, NUMBERS, at::reflection_pad1d)
PAD(aclnnReflectionPad2d, NUMBERS, at::reflection_pad2d)
PAD(aclnnReflectionPad3d, NUMBERS, at::reflection_pad3d)

PAD_BACKWARD(aclnnReplicationPad1dBackward, FLOATING | DOUBLE | COMPLEX, at::replication_pad1d_backward)
PAD_BACKWARD(aclnnReplicationPad3dBackward, FLOATING | DOUBLE | COMPLEX, at::replication_pad3d_backward)
PAD_BACKWARD(aclnnReflectionPad1dBackward, ANY, at::reflection_pad1d_backward)
PAD_BACKWARD(aclnnReflectionPad2dBackward, ANY, at::reflection_pad2d_backward)
PAD_BACKWARD(aclnnReflectionPad3dBackward, ANY, at::reflection_pad3d_backward)

ATEN_ENTRY(aclnnConstantPadNd, NUMBERS, (In, self), (Ints, padding), (Scalar, value), (Out, out)) {
    write(out, at::constant_pad_nd(self, padding, value));
}
