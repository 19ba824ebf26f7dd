"""Average pooling."""

import torch_aclnn
import torch

from opinfo.entry import Entry
from opinfo.exclusion import OWN_WORDS, Exclusion, no_double

ENTRIES = (
    Entry("nn.functional.avg_pool2d", torch_aclnn.functional.avg_pool2d),
    Entry("nn.AvgPool2d", torch_aclnn.nn.AvgPool2d),
)
FLOATING = "gradOutput, self and gradInput: floating, one type; NCHW or NCL"
EXCLUSIONS = (
    Exclusion(FLOATING, r"nn\.functional\.avg_pool2d", "got INT64", dtypes=(torch.int64,)),
    no_double(r"nn\.functional\.avg_pool2d|nn\.AvgPool2d"),
    Exclusion(OWN_WORDS, r"nn\.functional\.avg_pool2d", "got pad should (not be|be)", "torch", checks=("errors",), samples=".*'padding'"),
)
