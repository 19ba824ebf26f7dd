"""Adaptive average pooling."""

import torch_aclnn

from opinfo.entry import Entry
from opinfo.exclusion import GRADIENTS, OWN_WORDS, Exclusion, no_double

ENTRIES = (
    Entry("nn.functional.adaptive_avg_pool2d", torch_aclnn.functional.adaptive_avg_pool2d),
    Entry("nn.AdaptiveAvgPool2d", torch_aclnn.nn.AdaptiveAvgPool2d),
)
ONE_CELL = r"\(1,\)"
EXCLUSIONS = (
    no_double(r"nn\.functional\.adaptive_avg_pool2d"),
    # Of one output cell torch makes a mean.
    no_double(r"nn\.AdaptiveAvgPool2d", samples=f"(?!{ONE_CELL})"),
    no_double(r"nn\.AdaptiveAvgPool2d", "ours", GRADIENTS, ONE_CELL),
    Exclusion(
        OWN_WORDS,
        r"nn\.functional\.adaptive_avg_pool2d",
        "got .*output size must be 2",
        "torch",
        checks=("errors",),
        samples=r".*'output_size': '\(\)'",
    ),
)
