"""What phase 1 takes although it may look wrong, with reasons, and outputs whose elements stay as they were."""

from typing import NamedTuple

from support.vocabulary import RECORDS


class Reason(NamedTuple):
    entry_point: str  # a name, or * for all
    parameter: str
    what: str
    reason: str


# Parameters of which any value is taken, in each entry point.
EVERYWHERE = {
    "seed": "any number is a seed",
    "offset": "any number is a position in the stream of random numbers",
    "decimals": "any number rounds: negative ones to tens, hundreds and so on",
    "ignoreIndex": "any number may stand for the class to leave out",
    "paddingIdx": "negative numbers mean that there is none",
    "correction": "any number may be taken from the count",
    "preTokens": "any distance masks",
    "nextTokens": "any distance masks",
    "innerPrecise": "the engine computes in float32 in each case",
    "divisorOverride": "any number but 0 divides, and 0 means none",
    "prefix": "only sparse modes that the engine refuses read it",
    "restoreShape": "only padded mode reads it",
    **dict.fromkeys(("antiquantMode", "keyAntiquantMode", "valueAntiquantMode"), "only scales that the engine refuses make it matter"),
    "tuningConfig": "how many rows are expected is a hint for speed",
    "qStartIdx": "only shifts of positions that the engine refuses read it",
    "kvStartIdx": "only shifts of positions that the engine refuses read it",
}
REASONS = [Reason("*", parameter, "value", reason) for parameter, reason in EVERYWHERE.items()]
REASONS += [Reason(record.name, *what.split(" ", 1), reason) for record in RECORDS.values() for what, reason in record.unchecked.items()]
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
