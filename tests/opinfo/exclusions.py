"""Samples that cannot pass, each with the line of the contract, or the named limitation of torch_npu, that is the reason."""

import re
from dataclasses import dataclass

import torch

from opinfo.entries import ENGINE, Case
from opinfo.samples import Sample

# The lines of docs/operators/ and README.md, word for word, and the headings of limitations in the README of this folder.
FOUR_PADS = "padding is {left, right, top, bottom}, of any size"
TWO_DIMENSIONS = "input and gradInput have one shape of 2 to 8 dimensions with the channels in dimension 1"
FLOATING = "gradOutput, self and gradInput: floating, one type; NCHW or NCL"
NO_DOUBLE = "DOUBLE is refused by the poolings and batch norm"
FLOAT32_GRADIENTS = "Batch norm's parameters have float32 gradients"
OWN_WORDS = "Bad arguments of poolings are refused in torch_npu's own words"
LATE_REFUSAL = "max_unpool3d does not compare the shapes of input and indices"

# Kinds of samples, as patterns at the start of their summaries; they compose.
WITHOUT_CHANNELS = r"(?=.*input=Tensor\[size=\(0,\))"
NOT_EMPTY = r"(?!.*(input=Tensor\[size=\(0,|\[\(0,))"
ON_BATCH_STATISTICS = r"(?=.*('training': 'True'|in training|True, False\) .*in evaluation))"
ON_GIVEN_STATISTICS = ON_BATCH_STATISTICS.replace("?=", "?!")
NOT_AFFINE = r"\(\d+, [^,]+, [^,]+, False\)"
ONE_CELL = r"\(1,\)"

BATCH_NORMS = r"nn\.functional\.batch_norm|native_batch_norm|nn\.BatchNorm.d"
GRADIENTS = ("backward", "noncontiguous_backward", "gradcheck", "gradgradcheck")


@dataclass(frozen=True)
class Exclusion:
    """Samples of these entries (by a pattern of their titles) that fail with these words."""

    cause: str
    entries: str
    fails_with: str
    implementation: str = "ours|torch"
    dtypes: tuple[torch.dtype, ...] | None = None  # None means each
    checks: tuple[str, ...] | None = None
    samples: str = ""
    engine: str = "default|float64"

    def covers(self, case: Case, sample: Sample, engine: str = ENGINE) -> bool:
        return (
            re.fullmatch(self.implementation, case.implementation) is not None
            and re.fullmatch(self.entries, case.entry.title) is not None
            and (self.dtypes is None or case.dtype in self.dtypes)
            and (self.checks is None or case.check in self.checks)
            and re.match(self.samples, sample.summary) is not None
            and re.fullmatch(self.engine, engine) is not None
        )


def _no_double(entries: str, implementation: str = "ours|torch", checks: tuple[str, ...] | None = None, samples: str = "") -> Exclusion:
    return Exclusion(NO_DOUBLE, entries, "got DOUBLE", implementation, (torch.float64,), checks, samples, "default")


EXCLUSIONS = (
    Exclusion(
        FOUR_PADS,
        r"nn\.functional\.pad\.replicate",
        "replication_pad2d: (input: expected 3 or 4 dimensions|padding: expected one integer or 4)",
        "ours",
        samples=r".*args=\(\((-?\d+,-?\d+|(-?\d+,){5}-?\d+)\),",
    ),
    Exclusion(
        TWO_DIMENSIONS, r"nn\.functional\.batch_norm", "batch_norm: input: expected 2 dimensions or more", "ours", samples=WITHOUT_CHANNELS
    ),
    Exclusion(FLOATING, r"nn\.functional\.avg_pool2d", "got INT64", dtypes=(torch.int64,)),
    _no_double(r".*avg_pool2d|nn\.AvgPool2d"),
    # Of one output cell torch makes a mean.
    _no_double(r"nn\.AdaptiveAvgPool2d", samples=f"(?!{ONE_CELL})"),
    _no_double(r"nn\.AdaptiveAvgPool2d", "ours", GRADIENTS, ONE_CELL),
    _no_double(BATCH_NORMS, "torch", samples=NOT_EMPTY),
    _no_double(BATCH_NORMS, "ours", samples=NOT_EMPTY + ON_GIVEN_STATISTICS),
    # The batch's own statistics are computed by other operators.
    _no_double(BATCH_NORMS, "ours", GRADIENTS, NOT_EMPTY + ON_BATCH_STATISTICS),
    Exclusion(
        FLOAT32_GRADIENTS,
        BATCH_NORMS,
        "expected dtype Double but got float",
        "ours",
        checks=GRADIENTS,
        samples=f"{NOT_EMPTY}{ON_GIVEN_STATISTICS}(?!{NOT_AFFINE})",
        engine="float64",
    ),
    Exclusion(
        FLOAT32_GRADIENTS,
        BATCH_NORMS,
        "expected dtype Double but got float|aclnnBatchNormBackward: expected scalar type Double but found Float|507015",
        "torch",
        checks=GRADIENTS,
        samples=f"{NOT_EMPTY}(?!{NOT_AFFINE} .*in evaluation)",
        engine="float64",
    ),
    Exclusion(OWN_WORDS, r"nn\.functional\.avg_pool2d", "got pad should (not be|be)", "torch", checks=("errors",), samples=".*'padding'"),
    Exclusion(
        OWN_WORDS,
        r"nn\.functional\.adaptive_avg_pool2d",
        "got .*output size must be 2",
        "torch",
        checks=("errors",),
        samples=r".*'output_size': '\(\)'",
    ),
    Exclusion(LATE_REFUSAL, r"nn\.functional\.max_unpool3d", "aclnnMaxUnpool3d: Expected shape of indices", "torch", checks=("errors",)),
)
