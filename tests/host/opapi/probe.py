"""A program without torch that tells, as JSON, what the engine of its environment accepts or computes.

python -S -m host.opapi.probe LIBDIR accepts|digest
"""

import array
import ctypes
import hashlib
import json
import math
import random
import sys
from pathlib import Path
from typing import Any

from host.opapi.calls import (
    ADAPTIVE_AVG_POOL2D,
    AVG_POOL2D,
    BATCH_NORM_ELEMT,
    GOOD,
    MAX_UNPOOL3D,
    REPLICATION_PAD2D,
    but,
    every_tensor,
)
from host.opapi.client import PARAMETERS, Client, DType, Tensor

# The tensors of each operator whose types are not its subject.
FIXED_TYPES = {MAX_UNPOOL3D: ("indices",), BATCH_NORM_ELEMT: ("counter",)}


def outcome(client: Client, entry_point: str, arguments: dict[str, Any]) -> tuple[int, str]:
    """Return the first phase's code, or the first one that is not 0 after it, and the sentence."""
    with client.call(entry_point, arguments) as call:
        code = call.phase1() or call.phase2() or client.acl.aclrtSynchronizeStream(None)
        return code, client.sentence()


def accepted(client: Client, entry_point: str, names: tuple[str, ...] | None = None, **others: Any) -> list[str]:
    """Return the types that the operator takes for all these tensors, by default all that are free to choose."""
    good = GOOD[entry_point] | others
    chosen = every_tensor(good, except_for=FIXED_TYPES.get(entry_point, ()))
    calls = {d: but(good, **{n: {"dtype": d} for n in names or chosen}) for d in DType}
    return [dtype.name for dtype, call in calls.items() if outcome(client, entry_point, call)[0] == 0]


def cube_math_types(client: Client, dtype: DType) -> list[int]:
    call = but(GOOD[AVG_POOL2D], **every_tensor(GOOD[AVG_POOL2D], dtype=dtype))
    return [v for v in range(-1, 5) if outcome(client, AVG_POOL2D, call | {"cubeMathType": v})[0] == 0]


def accepts(client: Client) -> dict[str, Any]:
    return {
        "dtypes": {name: accepted(client, name) for name in GOOD},
        "counter": accepted(client, BATCH_NORM_ELEMT, ("counter",)),
        "indices": accepted(client, MAX_UNPOOL3D, ("indices",)),
        "cubeMathType": {d.name: cube_math_types(client, d) for d in (DType.FLOAT, DType.FLOAT16, DType.BF16)},
        "outcomes": {name: outcome(client, name, GOOD[name]) for name in GOOD},
        "float32 without down-cast": outcome(client, AVG_POOL2D, GOOD[AVG_POOL2D] | {"cubeMathType": 0}),
        "null": {name: outcome(client, name, GOOD[name] | {PARAMETERS[name][-3]: None}) for name in GOOD},
    }


class Arrays:
    """Random contiguous tensors that are large enough for several threads."""

    def __init__(self, client: Client) -> None:
        self._client, self._random = client, random.Random(2)

    def place(self, shape: tuple[int, ...], values: Any, dtype: DType = DType.FLOAT) -> Tensor:
        data = array.array("q" if dtype == DType.INT64 else "f", values).tobytes()
        address = self._client.allocate(len(data))
        ctypes.memmove(address, data, len(data))
        return Tensor(shape, dtype, storage=(math.prod(shape),), address=address)

    def floats(self, *shape: int) -> Tensor:
        return self.place(shape, (self._random.random() for _ in range(math.prod(shape))))

    def indices(self, end: int, *shape: int) -> Tensor:
        return self.place(shape, (self._random.randrange(end) for _ in range(math.prod(shape))), DType.INT64)


def large_calls(make: Arrays) -> dict[str, dict[str, Any]]:
    full, channels = (
        (2, 8, 64, 65),
        {name: make.floats(8) for name in ("mean", "invstd", "sumDy", "sumDyXmu", "weight")},
    )
    return {
        AVG_POOL2D: GOOD[AVG_POOL2D]
        | {"kernelSize": (3,), "stride": (1,), "padding": (1,), "countIncludePad": False}
        | {"gradOutput": make.floats(*full), "self": make.floats(*full), "gradInput": make.floats(*full)},
        ADAPTIVE_AVG_POOL2D: {
            "gradOutput": make.floats(2, 8, 37, 41),
            "self": make.floats(*full),
            "out": make.floats(*full),
        },
        REPLICATION_PAD2D: {
            "gradOutput": make.floats(2, 8, 70, 70),
            "self": make.floats(*full),
            "padding": (3, 2, 4, 2),
            "gradInput": make.floats(*full),
        },
        MAX_UNPOOL3D: GOOD[MAX_UNPOOL3D]
        | {"gradOutput": make.floats(2, 8, 4, 4, 2), "self": make.floats(2, 8, 16, 16, 20)}
        | {"indices": make.indices(32, 2, 8, 16, 16, 20), "out": make.floats(2, 8, 16, 16, 20)},
        BATCH_NORM_ELEMT: {
            "gradOut": make.floats(*full),
            "input": make.floats(*full),
            **channels,
            "counter": make.floats(3),
            "gradInput": make.floats(*full),
        },
    }


def digest(client: Client) -> dict[str, str]:
    make, result = Arrays(client), {}
    for entry_point, arguments in large_calls(make).items():
        code, sentence = outcome(client, entry_point, arguments)
        assert code == 0, sentence
        output = list(arguments.values())[-1]
        memory = ctypes.string_at(output.address, 4 * math.prod(output.shape))
        result[entry_point] = hashlib.sha256(memory).hexdigest()
    return result


def main() -> None:
    client = Client(Path(sys.argv[1]))
    assert client.acl.aclInit(None) == 0, client.sentence()
    assert client.acl.aclrtSetDevice(0) == 0, client.sentence()
    print(json.dumps({"accepts": accepts, "digest": digest}[sys.argv[2]](client)))


if __name__ == "__main__":
    main()
