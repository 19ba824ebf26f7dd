"""Max unpooling of volumes."""

import torch_aclnn

from opinfo.entry import Entry
from opinfo.exclusion import Exclusion

ENTRIES = (
    Entry("nn.functional.max_unpool3d", torch_aclnn.functional.max_unpool3d, lists_double=True, differences_are_gradients=False),
    Entry("nn.functional.max_unpool3d", torch_aclnn.functional.max_unpool3d, "grad", lists_double=True),
)
LATE_ERROR = "max_unpool3d does not compare the shapes of input and indices"
EXCLUSIONS = (
    Exclusion(LATE_ERROR, r"nn\.functional\.max_unpool3d", "aclnnMaxUnpool3d: Expected shape of indices", "torch", checks=("errors",)),
)
