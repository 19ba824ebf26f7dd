"""Edge replication."""

import torch_aclnn
from torch import Tensor

from opinfo.entry import Entry
from opinfo.exclusion import Exclusion


def _replication_pad2d(input: Tensor, padding: tuple[int, ...], mode: str) -> Tensor:
    assert mode == "replicate"
    return torch_aclnn.functional.replication_pad2d(input, padding)


ENTRIES = (
    Entry("nn.functional.pad", _replication_pad2d, "replicate", lists_double=True),
    Entry("nn.functional.pad", _replication_pad2d, "replicate_negative", lists_double=True),
    Entry("nn.ReplicationPad2d", torch_aclnn.nn.ReplicationPad2d, lists_double=True),
)
FOUR_PADS = "padding is {left, right, top, bottom}, of any size"
EXCLUSIONS = (
    Exclusion(
        FOUR_PADS,
        r"nn\.functional\.pad\.replicate",
        "replication_pad2d: (input: expected 3 or 4 dimensions|padding: expected one integer or 4)",
        "ours",
        samples=r".*args=\(\((-?\d+,-?\d+|(-?\d+,){5}-?\d+)\),",
    ),
)
