"""The cases, operator by operator: layers of well-known networks, then small, uneven and unusual ones."""

from dataclasses import replace

import torch

from benchmarks.batch_norm import BatchNormElemt
from benchmarks.case import Case
from benchmarks.max_unpool3d import MaxUnpool3d
from benchmarks.planes import AdaptiveAvgPool2d, AvgPool2d, ReplicationPad2d

HALF, BFLOAT = torch.float16, torch.bfloat16


def _avg_pool2d() -> list[Case]:
    large = (
        AvgPool2d(shape=(32, 64, 112, 112), kernel=3, stride=2, padding=1),
        AvgPool2d(shape=(32, 256, 56, 56), kernel=2, stride=2),
        AvgPool2d(shape=(16, 192, 35, 35), kernel=3, stride=1, padding=1, quick=True),
        AvgPool2d(shape=(8, 512, 28, 28), kernel=7, stride=7),
    )
    small = (
        AvgPool2d(shape=(1, 3, 32, 32), kernel=2, stride=2),
        AvgPool2d(shape=(1, 64, 7, 7), kernel=3, stride=1, padding=1, quick=True),
    )
    half = replace(large[2], dtype=HALF, quick=False)
    uneven = AvgPool2d(shape=(8, 64, 17, 13), kernel=3, stride=2, padding=1)
    other = (
        uneven,
        AvgPool2d(shape=(8, 64, 17, 13), kernel=2, stride=2, ceil_mode=True),
        replace(uneven, count_include_pad=False),
        replace(uneven, divisor_override=5),
        AvgPool2d(shape=(1, 256, 56, 56), kernel=2, stride=2),
        AvgPool2d(shape=(256, 56, 56), kernel=3, stride=2, padding=1),
    )
    planes = [*large, *(replace(case, dtype=BFLOAT) for case in large), half, *small, *other]
    return planes + [replace(case, channels_last=True) for case in planes if len(case.shape) == 4]


def _adaptive_avg_pool2d() -> list[Case]:
    large = (
        AdaptiveAvgPool2d(shape=(32, 2048, 7, 7), output_size=(1, 1)),
        AdaptiveAvgPool2d(shape=(32, 512, 14, 14), output_size=(7, 7), quick=True),
        AdaptiveAvgPool2d(shape=(16, 256, 56, 56), output_size=(6, 6)),
    )
    return [
        *large,
        *(replace(case, dtype=BFLOAT) for case in large),
        replace(large[1], dtype=HALF, quick=False),
        *(replace(case, channels_last=True, quick=False) for case in large[:2]),
        AdaptiveAvgPool2d(shape=(1, 3, 32, 32), output_size=(7, 7)),
        AdaptiveAvgPool2d(shape=(1, 64, 7, 7), output_size=(1, 1), quick=True),
        AdaptiveAvgPool2d(shape=(8, 64, 17, 13), output_size=(5, 6)),
        AdaptiveAvgPool2d(shape=(8, 64, 7, 7), output_size=(14, 10)),
        AdaptiveAvgPool2d(shape=(256, 56, 56), output_size=(6, 6)),
    ]


def _replication_pad2d() -> list[Case]:
    large = (
        ReplicationPad2d(shape=(16, 64, 128, 128), padding=(1, 1, 1, 1), quick=True),
        ReplicationPad2d(shape=(8, 64, 256, 256), padding=(3, 3, 3, 3)),
    )
    return [
        *large,
        *(replace(case, dtype=BFLOAT) for case in large),
        replace(large[0], dtype=HALF, quick=False),
        replace(large[0], channels_last=True, quick=False),
        ReplicationPad2d(shape=(1, 3, 32, 32), padding=(1, 1, 1, 1)),
        ReplicationPad2d(shape=(1, 64, 7, 7), padding=(1, 1, 1, 1), quick=True),
        ReplicationPad2d(shape=(8, 64, 17, 13), padding=(3, 0, 1, 2)),
        ReplicationPad2d(shape=(8, 64, 4, 4), padding=(6, 6, 6, 6)),
        ReplicationPad2d(shape=(64, 128, 128), padding=(2, 2, 2, 2)),
    ]


def _max_unpool3d() -> list[Case]:
    large = (MaxUnpool3d(shape=(2, 32, 32, 64, 64), quick=True), MaxUnpool3d(shape=(4, 64, 16, 56, 56)))
    return [
        *large,
        *(replace(case, dtype=BFLOAT, quick=False) for case in large),
        replace(large[0], dtype=HALF, quick=False),
        MaxUnpool3d(shape=(1, 2, 4, 8, 8), quick=True),
        MaxUnpool3d(shape=(2, 16, 6, 17, 13), kernel=(2, 3, 2)),
        MaxUnpool3d(shape=(32, 16, 32, 32)),
    ]


def _batch_norm_elemt() -> list[Case]:
    large = (
        BatchNormElemt(shape=(32, 64, 112, 112)),
        BatchNormElemt(shape=(32, 256, 56, 56)),
        BatchNormElemt(shape=(32, 2048, 7, 7), quick=True),
    )
    return [
        *large,
        *(replace(case, dtype=BFLOAT, quick=False) for case in large),
        replace(large[2], dtype=HALF, quick=False),
        *(replace(case, channels_last=True, quick=False) for case in large[1:]),
        replace(large[2], grad_dtype=BFLOAT, quick=False),
        BatchNormElemt(shape=(4096, 1024)),
        BatchNormElemt(shape=(1, 64, 56, 56)),
        BatchNormElemt(shape=(1, 3, 32, 32), quick=True),
        BatchNormElemt(shape=(8, 64, 17, 13)),
    ]


CASES: tuple[Case, ...] = (
    *_avg_pool2d(),
    *_adaptive_avg_pool2d(),
    *_replication_pad2d(),
    *_max_unpool3d(),
    *_batch_norm_elemt(),
)
