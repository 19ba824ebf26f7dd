"""A program without torch that tells, as JSON, what the engine of its environment accepts or computes.

python -S -m support.probe LIBDIR accepts|digest
"""

import array
import hashlib
import json
import math
import random
import sys
from pathlib import Path
from typing import Any

from support.client import Client
from support.dtypes import DType
from support.operators import ENTRY_POINTS
from support.tensors import Tensor, but


def outcome(client: Client, entry_point: str, arguments: dict[str, Any]) -> tuple[int, str]:
    """Return the first phase's code, or the first one that is not 0 after it, and the message."""
    with client.call(entry_point, arguments) as call:
        code = call.phase1() or call.phase2() or client.acl.aclrtSynchronizeStream(None)
        return code, client.message()


def accepted(client: Client, entry_point: str, names: list[str]) -> list[str]:
    """Return the types that the operator takes for all these tensors."""
    calls = {dtype: but(ENTRY_POINTS[entry_point].good, **{name: {"dtype": dtype} for name in names}) for dtype in DType}
    return [dtype.name for dtype, call in calls.items() if outcome(client, entry_point, call)[0] == 0]


def accepts(client: Client) -> dict[str, Any]:
    return {
        "dtypes": {name: accepted(client, name, e.free_dtypes()) for name, e in ENTRY_POINTS.items()},
        "fixed": {name: {fixed: accepted(client, name, [fixed]) for fixed in e.fixed_dtypes} for name, e in ENTRY_POINTS.items()},
        "outcomes": {name: outcome(client, name, e.good) for name, e in ENTRY_POINTS.items()},
        "null": {name: outcome(client, name, e.good | {e.output: None}) for name, e in ENTRY_POINTS.items()},
    }


class Arrays:
    """Random contiguous tensors that are large enough for several threads."""

    def __init__(self, client: Client) -> None:
        self._client, self._random = client, random.Random(2)

    def place(self, shape: tuple[int, ...], values: Any, dtype: DType = DType.FLOAT) -> Tensor:
        data = array.array("q" if dtype == DType.INT64 else "f", values).tobytes()
        address = self._client.allocate(len(data))
        self._client.acl.write(address, data)
        return Tensor(shape, dtype, storage=(math.prod(shape),), address=address)

    def floats(self, *shape: int) -> Tensor:
        return self.place(shape, (self._random.random() for _ in range(math.prod(shape))))

    def indices(self, end: int, *shape: int) -> Tensor:
        return self.place(shape, (self._random.randrange(end) for _ in range(math.prod(shape))), DType.INT64)


def digest(client: Client) -> dict[str, str]:
    make, result = Arrays(client), {}
    for name, entry_point in ENTRY_POINTS.items():
        arguments = entry_point.large(make)
        code, message = outcome(client, name, arguments)
        assert code == 0, message
        output = arguments[entry_point.output]
        memory = client.acl.read(output.address, 4 * math.prod(output.shape))
        result[name] = hashlib.sha256(memory).hexdigest()
    return result


def main() -> None:
    client = Client(Path(sys.argv[1]))
    assert client.acl.aclInit(None) == 0, client.message()
    assert client.acl.aclrtSetDevice(0) == 0, client.message()
    print(json.dumps({"accepts": accepts, "digest": digest}[sys.argv[2]](client)))


if __name__ == "__main__":
    main()
