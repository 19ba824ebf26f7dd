"""Every element of an output is written, and nothing else, whatever the output's layout."""

from typing import Any

from arguments import TensorList
from contents import ONE, contents, plain_outputs
from guarded import Guarded
from sound_calls import of_every_entry_point, phase1, phase2, sound_arguments

from support.client import Client
from support.tensors import Tensor


def run(
    client: Client, entry_point: Any, arguments: dict[str, Any], outputs: dict[str, Tensor], fill: bytes, *guard: bytes
) -> dict[str, Any]:
    """Return the outputs' elements by name, which were full of the byte before."""
    handles = Guarded(client, contents(arguments, outputs, ONE, fill), *guard)
    code, executor, size = phase1(entry_point, handles.of_call(arguments | outputs).values())
    workspace = client.allocate(size) if size else None
    code = code or phase2(entry_point, executor, workspace, size) or client.acl.aclrtSynchronizeStream(None)
    if workspace:
        client.free(workspace)
    assert code == 0, client.message()
    found = {name: handles.elements(tensor) for name, tensor in outputs.items()}
    handles.destroy()
    assert handles.is_whole()
    return found


@of_every_entry_point("Out")
def test_all_of_an_output_is_written_and_nothing_else(entry_point, client):
    sound = sound_arguments(entry_point)
    plain = plain_outputs(entry_point, sound)
    first = run(client, entry_point, sound, plain, b"\0")
    second = run(client, entry_point, sound, plain, b"\x5a")
    assert first == second
    of_sound = {name: sound[name] for name in plain}
    gaps = {name: t.laid_out(order=range(len(t.shape))[::-1], step=2, offset=i + 1) for i, (name, t) in enumerate(of_sound.items())}
    assert run(client, entry_point, sound, gaps, b"\x5a") == first


ROUNDED_OTHERWISE = ("aclnnGeluBackward",)  # oneDNN computes tensors without gaps
READ_KINDS = ("In", "OptIn", "Tensors")
# What has no gaps by its documents.
UNDIVIDED_KINDS = ("Packed", "MatmulWeight", "InBlocks", "WorkerContextRef")
UNDIVIDED = {(f"aclnnMaxPool2dWithMask{phase}", "indices") for phase in ("", "Backward")}
# These write into windows of other ranks, which do not exist here.
ONE_SIDED = ("aclnnAttentionToFFN", "aclnnFFNToAttention")


@of_every_entry_point(without=ONE_SIDED)
def test_nothing_but_elements_is_read_or_written(entry_point, client):
    sound = sound_arguments(entry_point)
    gaps, at_one = dict(sound), dict(sound)
    for p in entry_point.parameters:
        if p.kind not in UNDIVIDED_KINDS and (entry_point.name, p.name) not in UNDIVIDED:
            gaps[p.name] = with_gaps(sound[p.name])
            at_one[p.name] = at_one_place(sound[p.name]) if p.kind in READ_KINDS else sound[p.name]
    outputs = {p.name: sound[p.name].but(offset=i + 1) for i, p in enumerate(entry_point.parameters) if p.kind == "Out"}
    with_gap = {name: gaps[name].but(offset=tensor.offset) for name, tensor in outputs.items()}
    plain = run(client, entry_point, sound, outputs, b"\0")
    for given, results in ((gaps, with_gap), (at_one, outputs)):
        first, second = (run(client, entry_point, given, results, b"\0", guard) for guard in (b"\xa5", b"\x3c"))
        assert first == second
        assert first == plain or entry_point.name in ROUNDED_OTHERWISE


def with_gaps(value: Any) -> Any:
    """Return a tensor, or the tensors of a list, with gaps between the elements; anything else as it is."""
    if isinstance(value, TensorList):
        return TensorList(tuple(with_gaps(member) for member in value.members))
    return value.laid_out(step=2) if isinstance(value, Tensor) else value


def at_one_place(value: Any) -> Any:
    """Return a tensor, or the tensors of a list, with all elements at the place of the first; anything else as it is."""
    if isinstance(value, TensorList):
        return TensorList(tuple(at_one_place(member) for member in value.members))
    return value.but(strides=(0,) * len(value.shape)) if isinstance(value, Tensor) else value
