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
from test_refusals import REASONS

from support.client import Client
from support.dtypes import DType, size_of
from support.tensors import Tensor

with Path(__file__).with_name("refused_late.tsv").open(newline="") as file:
    REFUSED_LATE = {row[0]: row[1] for row in list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]}
# Which of their elements are written depends on the inputs' values; the mask has bytes to spare.
PARTLY_WRITTEN = {
    ("aclnnCoalesceSparse", "newIndices"),
    ("aclnnMaxPool2dWithMask", "indices"),
    ("aclnnMoeInitRoutingV3", "expandedX"),
}
ONE = {DType.FLOAT: b"\0\0\x80\x3f", DType.FLOAT16: b"\0\x3c", DType.BF16: b"\x80\x3f"}


def run(client: Client, entry_point: Any, arguments: dict[str, Any], outputs: dict[str, Tensor], fill: bytes) -> dict[str, Any] | None:
    """Return the outputs' elements by name, which were full of the byte before; None if phase 1 or the computation refuses the call."""
    inputs = [v for argument in arguments.values() for v in (argument.members if isinstance(argument, TensorList) else (argument,))]
    full_of = {tensor: ONE.get(tensor.dtype, bytes(size_of(tensor.dtype))) for tensor in inputs if isinstance(tensor, Tensor)}
    full_of |= {tensor: fill * size_of(tensor.dtype) for tensor in outputs.values()}
    handles = Guarded(client, full_of)
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
    unasked = {reason.parameter for reason in REASONS if (reason.entry_point, reason.what) == (entry_point.name, "shape")}
    unasked |= {parameter for name, parameter in PARTLY_WRITTEN if name == entry_point.name}
    outputs = {p.name: sound[p.name] for p in entry_point.parameters if p.kind == "Out" and p.name not in unasked}
    # Told from the inputs by an offset.
    plain = {name: tensor.but(offset=i + 1, strides=tensor.real_strides()) for i, (name, tensor) in enumerate(outputs.items())}
    first = run(client, entry_point, sound, plain, b"\0")
    second = run(client, entry_point, sound, plain, b"\x5a")
    assert first == second
    assert (first is None) == (str(entry_point) in REFUSED_LATE)
    gaps = {name: t.laid_out(order=range(len(t.shape))[::-1], step=2, offset=i + 1) for i, (name, t) in enumerate(outputs.items())}
    strided = run(client, entry_point, sound, gaps, b"\x5a")
    assert strided is None or strided == first
