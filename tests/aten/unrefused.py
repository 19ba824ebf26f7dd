"""What phase 1 takes although it may look wrong, with reasons, and outputs whose elements stay as they were."""

import csv
from pathlib import Path
from typing import NamedTuple


class Reason(NamedTuple):
    entry_point: str  # or * for all
    parameter: str
    what: str
    reason: str


def reasons() -> list[Reason]:
    with (Path(__file__).parent / "unrefused.tsv").open(newline="") as file:
        return [Reason(*row) for row in list(csv.reader(file, delimiter="\t"))[1:]]


REASONS = reasons()
# Which of their elements are written depends on the inputs' values; the mask has bytes to spare.
PARTLY_WRITTEN = {
    ("aclnnCoalesceSparse", "newIndices"),
    ("aclnnCtcLoss", "logAlpha"),
    ("aclnnMaxPool2dWithMask", "indices"),
    ("aclnnMoeInitRoutingV3", "expandedX"),
    *((f"aclnnMoeDistributeDispatch{version}", "expandX") for version in ("", "V2", "V3", "V4", "Teardown")),
}
# Nothing is written there unless another argument asks for it.
UNASKED = {(reason.entry_point, reason.parameter) for reason in REASONS if reason.what == "shape"} | {
    *(("aclnnBatchNormReduceBackward", name) for name in ("sumDy", "sumDyXmu", "gradWeight", "gradBias")),
    *(("aclnnGroupNormSwishGrad", name) for name in ("dgamma", "dbeta")),
    ("aclnnLightningIndexer", "sparseValuesOut"),
    ("aclnnMoeInitRoutingQuantV2", "expandedScale"),
    *((f"aclnnSparseFlashAttention{version}", name) for version in ("", "V2") for name in ("softmaxMax", "softmaxSum")),
    ("aclnnTopKTopPSample", "logitsTopKPSelect"),
    *(("aclnnTopKTopPSampleV2", name) for name in ("logitsTopKPSelect", "logitsIdx", "logitsSortMasked")),
    *(("aclnnRotaryPositionEmbeddingGrad", name) for name in ("dcos", "dsin")),
}


def may_be_left(entry_point: str, parameter: str) -> bool:
    """Return whether elements of the output may stay as they were."""
    return (entry_point, parameter) in PARTLY_WRITTEN | UNASKED
