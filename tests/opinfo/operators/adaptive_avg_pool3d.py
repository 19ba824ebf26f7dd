"""Adaptive average pooling of volumes."""

import torch_aclnn

from opinfo.entry import Entry
from opinfo.exclusion import GRADIENTS, no_double

ENTRIES = (
    Entry("nn.functional.adaptive_avg_pool3d", torch_aclnn.functional.adaptive_avg_pool3d),
    Entry("nn.AdaptiveAvgPool3d", torch_aclnn.nn.AdaptiveAvgPool3d),
)
ONE_CELL = r".*args=\(\(1,1,1\)\)"
EXCLUSIONS = (
    # Of one output cell torch makes a mean.
    no_double(r"nn\.functional\.adaptive_avg_pool3d", samples=f"(?!{ONE_CELL})"),
    no_double(r"nn\.functional\.adaptive_avg_pool3d", "ours", GRADIENTS, ONE_CELL),
    no_double(r"nn\.AdaptiveAvgPool3d"),
)
