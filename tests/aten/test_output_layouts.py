"""Every element of an output is written, and nothing else, whatever the output's layout.

refused_late.tsv lists the entry points whose call here fails as it is computed, mostly for a data type that phase 1 should refuse; it may
only become shorter.
"""

import csv
from pathlib import Path
from typing import Any

from arguments import TensorList
from guarded import Guarded
from sound_calls import of_every_entry_point, phase1, phase2, sound_arguments
from unrefused import may_be_left

from support.client import Client
from support.dtypes import DType, size_of
from support.tensors import Tensor

with Path(__file__).with_name("refused_late.tsv").open(newline="") as file:
    REFUSED_LATE = {row[0]: row[1] for row in list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]}
ONE = {DType.FLOAT: b"\0\0\x80\x3f", DType.FLOAT16: b"\0\x3c", DType.BF16: b"\x80\x3f"}


def run(
    client: Client, entry_point: Any, arguments: dict[str, Any], outputs: dict[str, Tensor], fill: bytes, *guard: bytes
) -> dict[str, Any] | None:
    """Return the outputs' elements by name, which were full of the byte before; None if phase 1 or the computation refuses the call."""
    inputs = [v for argument in arguments.values() for v in (argument.members if isinstance(argument, TensorList) else (argument,))]
    full_of = {tensor: ONE.get(tensor.dtype, bytes(size_of(tensor.dtype))) for tensor in inputs if isinstance(tensor, Tensor)}
    full_of |= {tensor: fill * size_of(tensor.dtype) for tensor in outputs.values()}
    handles = Guarded(client, full_of, *guard)
    code, executor, _ = phase1(entry_point, [handles.of(value) for value in (arguments | outputs).values()])
    code = code or phase2(entry_point, executor) or client.acl.aclrtSynchronizeStream(None)
    found = {name: handles.elements(tensor) for name, tensor in outputs.items()} if code == 0 else None
    client.message()
    handles.destroy()
    assert handles.is_whole()
    return found


@of_every_entry_point("Out")
def test_all_of_an_output_is_written_and_nothing_else(entry_point, client):
    sound = sound_arguments(entry_point)
    outputs = {p.name: sound[p.name] for p in entry_point.parameters if p.kind == "Out" and not may_be_left(entry_point.name, p.name)}
    # Told from the inputs by an offset.
    plain = {name: tensor.but(offset=i + 1, strides=tensor.real_strides()) for i, (name, tensor) in enumerate(outputs.items())}
    first = run(client, entry_point, sound, plain, b"\0")
    second = run(client, entry_point, sound, plain, b"\x5a")
    assert first == second
    assert (first is None) == (str(entry_point) in REFUSED_LATE)
    gaps = {name: t.laid_out(order=range(len(t.shape))[::-1], step=2, offset=i + 1) for i, (name, t) in enumerate(outputs.items())}
    strided = run(client, entry_point, sound, gaps, b"\x5a")
    assert strided is None or strided == first


@of_every_entry_point()
def test_gaps_between_elements_are_not_read_or_written(entry_point, client):
    sound = {name: with_gaps(value) for name, value in sound_arguments(entry_point).items()}
    outputs = {p.name: sound[p.name].but(offset=i + 1) for i, p in enumerate(entry_point.parameters) if p.kind == "Out"}
    first, second = (run(client, entry_point, sound, outputs, b"\0", guard) for guard in (b"\xa5", b"\x3c"))
    assert first == second


def with_gaps(value: Any) -> Any:
    """Return a tensor, or the tensors of a list, with gaps between the elements; anything else as it is."""
    if isinstance(value, TensorList):
        return TensorList(tuple(with_gaps(member) for member in value.members))
    return value.laid_out(step=2) if isinstance(value, Tensor) else value
