"""A program: calls each entry point with inputs of other shapes, and with integers that may be no positions, and looks around its tensors.

It prints the number of an entry point before it calls it, so that whoever started it knows which one ended it, and then as JSON each call
that wrote outside of its tensors or failed in words of torch's insides. An argument says with which number to begin.
"""

import json
import resource
import struct
import sys
from collections.abc import Iterator
from typing import Any

import torch_aclnn  # noqa: F401  (its libraries)
from arguments import COMMUNICATOR, TensorList
from guarded import Guarded
from sound_calls import ENTRY_POINTS, phase1, phase2, sound_arguments
from torch_aclnn.host import libdir
from torch_aclnn.host.registry import EntryPoint

from support.client import Client
from support.communicator import one_rank
from support.dtypes import DType, size_of
from support.tensors import Tensor

INTEGERS = {DType.INT64: "q", DType.INT32: "i"}
VALUES = (-1, 2, 10_000_000)  # positions of TENSOR are 0 and 1 along a dimension


def smaller(tensor: Tensor) -> Iterator[Tensor]:
    """Yield the tensor with one index less in each dimension, with none, and without its first dimension."""
    for d, size in enumerate(tensor.shape):
        for fewer in {max(size - 1, 0), 0}:
            yield tensor.but(shape=(*tensor.shape[:d], fewer, *tensor.shape[d + 1 :]))
    if tensor.shape:
        yield tensor.but(shape=tensor.shape[1:])


def changes(given: Tensor) -> Iterator[tuple[Tensor, bytes]]:
    """Yield a tensor in another form, and what it is full of."""
    yield from ((tensor, b"\0" * size_of(tensor.dtype)) for tensor in smaller(given))
    for dtype, code in INTEGERS.items():
        top = 1 << (8 * struct.calcsize(code) - 1)
        yield from ((given.but(dtype=dtype), struct.pack(f"<{code}", value)) for value in (*VALUES, -top, top - 1))


def calls(entry_point: EntryPoint) -> Iterator[tuple[str, dict[str, Any], dict[Tensor, bytes]]]:
    """Yield calls: the parameter that was changed, the arguments, and what its tensor is full of."""
    sound = sound_arguments(entry_point)
    for parameter in entry_point.parameters:
        given = sound[parameter.name]
        if parameter.kind in ("Out", "OptOut", "Packed") or not isinstance(given, (Tensor, TensorList)):
            continue
        first, *others = (given,) if isinstance(given, Tensor) else given.members
        for changed, content in changes(first):
            argument = changed if isinstance(given, Tensor) else TensorList((changed, *others))
            yield parameter.name, {**sound, parameter.name: argument}, {changed: content}


def main() -> None:
    """Try the entry points from the given number on."""
    resource.setrlimit(resource.RLIMIT_DATA, (4 << 30, 4 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    client = Client(libdir())
    client.acl.ok("aclrtSetDevice", 0)
    with one_rank(COMMUNICATOR):
        for number in range(int(sys.argv[1]), len(ENTRY_POINTS)):
            print(number, flush=True)
            for parameter, arguments, full_of in calls(ENTRY_POINTS[number]):
                handles = Guarded(client, full_of)
                code, executor, _ = phase1(ENTRY_POINTS[number], [handles.of(argument) for argument in arguments.values()])
                if code == 0:
                    code = phase2(ENTRY_POINTS[number], executor) or client.acl.aclrtSynchronizeStream(None)
                message = client.message() if code else ""
                handles.destroy()
                if not handles.is_whole() or "INTERNAL ASSERT" in message or "vector::" in message:
                    print(json.dumps([str(ENTRY_POINTS[number]), parameter, str(full_of), message]), flush=True)


main()
