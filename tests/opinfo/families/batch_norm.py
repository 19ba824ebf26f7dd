"""Batch norm."""

import torch_aclnn
from torch_aclnn._operators import Operator

from opinfo.entry import Entry
from opinfo.exclusion import GRADIENTS, Exclusion, no_double


def entries(operator: Operator) -> tuple[Entry, ...]:
    return (
        Entry("nn.functional.batch_norm", torch_aclnn.functional.batch_norm, is_linear=False),
        Entry("native_batch_norm", None, is_linear=False),
        Entry("nn.BatchNorm1d", torch_aclnn.nn.BatchNorm1d, is_linear=False),
        Entry("nn.BatchNorm2d", torch_aclnn.nn.BatchNorm2d, is_linear=False),
        Entry("nn.BatchNorm3d", torch_aclnn.nn.BatchNorm3d, is_linear=False),
    )


TWO_DIMENSIONS = "input and gradInput have one shape of 2 to 8 dimensions with the channels in dimension 1"
SECOND_DERIVATIVES = "Batch norm's second derivatives are wrong in training"
FLOAT32_GRADIENTS = "Batch norm's parameters have float32 gradients"

# Kinds of samples, as patterns at the start of their summaries; they compose.
WITHOUT_CHANNELS = r"(?=.*input=Tensor\[size=\(0,\))"
NOT_EMPTY = r"(?!.*(input=Tensor\[size=\(0,|\[\(0,))"
ON_BATCH_STATISTICS = r"(?=.*('training': 'True'|,True,[-.\d]+,[-.e\d]+\), kwargs|in training|True, False\) .*in evaluation))"
ON_GIVEN_STATISTICS = ON_BATCH_STATISTICS.replace("?=", "?!")
NOT_AFFINE = r"\(\d+, [^,]+, [^,]+, False\)"

BATCH_NORMS = r"nn\.functional\.batch_norm|native_batch_norm|nn\.BatchNorm.d"

EXCLUSIONS = (
    Exclusion(
        TWO_DIMENSIONS, r"nn\.functional\.batch_norm", "batch_norm: input: expected 2 dimensions or more", "ours", samples=WITHOUT_CHANNELS
    ),
    no_double(BATCH_NORMS, "torch", samples=NOT_EMPTY),
    no_double(BATCH_NORMS, "ours", samples=NOT_EMPTY + ON_GIVEN_STATISTICS),
    # The batch's own statistics are computed by other operators.
    no_double(BATCH_NORMS, "ours", GRADIENTS, NOT_EMPTY + ON_BATCH_STATISTICS),
    Exclusion(
        SECOND_DERIVATIVES,
        BATCH_NORMS,
        "Jacobian mismatch",
        "torch",
        checks=("gradgradcheck",),
        samples=NOT_EMPTY + ON_BATCH_STATISTICS,
        engine="default",
    ),
    Exclusion(
        FLOAT32_GRADIENTS,
        BATCH_NORMS,
        "expected dtype [Dd]ouble but got float",
        "ours",
        checks=GRADIENTS,
        samples=f"{NOT_EMPTY}{ON_GIVEN_STATISTICS}(?!{NOT_AFFINE})",
        engine="float64",
    ),
    Exclusion(
        FLOAT32_GRADIENTS,
        BATCH_NORMS,
        "expected dtype [Dd]ouble but got float|aclnnBatchNormBackward: .*expected data types that the operator has, got .*|507015",
        "torch",
        checks=GRADIENTS,
        samples=f"{NOT_EMPTY}(?!{NOT_AFFINE} .*in evaluation)",
        engine="float64",
    ),
)
