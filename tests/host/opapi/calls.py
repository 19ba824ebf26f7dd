"""One small call of each entry point that meets the whole contract, and ways to break it."""

import random
from collections.abc import Mapping
from typing import Any

from host.opapi.client import DType, Tensor, pack, unpack

AVG_POOL2D = "aclnnAvgPool2dBackward"
ADAPTIVE_AVG_POOL2D = "aclnnAdaptiveAvgPool2dBackward"
REPLICATION_PAD2D = "aclnnReplicationPad2dBackward"
MAX_UNPOOL3D = "aclnnMaxUnpool3dBackward"
BATCH_NORM_ELEMT = "aclnnBatchNormElemtBackward"

GOOD: dict[str, dict[str, Any]] = {
    AVG_POOL2D: {
        "gradOutput": Tensor((2, 3, 2, 2)),
        "self": Tensor((2, 3, 4, 4)),
        "kernelSize": (2, 2),
        "stride": (2, 2),
        "padding": (0, 0),
        "ceilMode": False,
        "countIncludePad": True,
        "divisorOverride": 0,
        "cubeMathType": 1,
        "gradInput": Tensor((2, 3, 4, 4)),
    },
    ADAPTIVE_AVG_POOL2D: {
        "gradOutput": Tensor((2, 3, 2, 3)),
        "self": Tensor((2, 3, 5, 4)),
        "out": Tensor((2, 3, 5, 4)),
    },
    REPLICATION_PAD2D: {
        "gradOutput": Tensor((2, 3, 7, 6)),
        "self": Tensor((2, 3, 4, 3)),
        "padding": (1, 2, 3, 0),
        "gradInput": Tensor((2, 3, 4, 3)),
    },
    MAX_UNPOOL3D: {
        "gradOutput": Tensor((2, 3, 4, 4, 2)),
        "self": Tensor((2, 3, 2, 2, 1)),
        "indices": Tensor((2, 3, 2, 2, 1), DType.INT64, [0] * 24),
        "outputSize": (4, 4, 2),
        "stride": (2, 2, 2),
        "padding": (0, 0, 0),
        "out": Tensor((2, 3, 2, 2, 1)),
    },
    BATCH_NORM_ELEMT: {
        "gradOut": Tensor((2, 3, 1, 4)),
        "input": Tensor((2, 3, 1, 4)),
        "mean": Tensor((3,)),
        "invstd": Tensor((3,)),
        "weight": Tensor((3,)),
        "sumDy": Tensor((3,)),
        "sumDyXmu": Tensor((3,)),
        "counter": Tensor((3,)),
        "gradInput": Tensor((2, 3, 1, 4)),
    },
}


def but(arguments: Mapping[str, Any], /, **changes: Any) -> dict[str, Any]:
    """Return the arguments with some changed; a dict changes some fields of a tensor."""
    changed = dict(arguments)
    for name, value in changes.items():
        changed[name] = arguments[name].but(**value) if isinstance(value, dict) else value
    return changed


def every_tensor(arguments: Mapping[str, Any], /, *, except_for: tuple[str, ...] = (), **fields: Any) -> dict[str, Any]:
    """Return changes for `but` that give all tensors the same fields."""
    return {n: fields for n, value in arguments.items() if isinstance(value, Tensor) and n not in except_for}


def numbers(count: int, dtype: DType, seed: int = 0) -> list[Any]:
    """Return numbers of one sign that the type holds, so that a sum of them loses no precision."""
    source = random.Random(seed)
    if dtype in (DType.COMPLEX64, DType.COMPLEX128):
        exact: list[Any] = [complex(source.uniform(0.5, 2), source.uniform(0.5, 2)) for _ in range(count)]
    elif dtype in (DType.FLOAT, DType.FLOAT16, DType.BF16, DType.DOUBLE):
        exact = [source.uniform(0.5, 2) for _ in range(count)]
    else:
        exact = [source.randrange(128) for _ in range(count)]
    return [unpack(dtype, pack(dtype, value)) for value in exact]


# How a test of strided tensors lays out one of rank 4.
LAYOUTS: dict[str, dict[str, Any]] = {
    "offset": {"offset": 5},
    "channels last": {"order": (0, 2, 3, 1), "offset": 3},
    "transposed with gaps": {"order": (3, 1, 0, 2), "step": 3, "offset": 2},
}
