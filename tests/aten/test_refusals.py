"""Phase 1 of every entry point on ATen's kernels, generated from their list: sound arguments are accepted, and each wrong one is refused by
name with the documented code. What is not refused has a reason in the record (``unchecked``), or below, if it is so everywhere.

A null means "not given" where the list says so, which follows from the kind (OptIn, OptTensors, ...); anywhere else it is wrong.
"""

import itertools
import math
import re
from collections.abc import Iterator
from ctypes import c_int64, c_uint64
from typing import Any, NamedTuple

import pytest
from arguments import NOT_OF_ATEN, ROOM, TENSOR, TOO_MANY, TensorList, kind
from sound_calls import (
    ENTRY_POINTS,
    POINTERS,
    allowed_types,
    answer,
    dtype_of,
    of_dtype,
    of_every_entry_point,
    sound_arguments,
    sound_value,
    typed,
    types_of,
)
from torch_aclnn.host.registry import EntryPoint
from unrefused import REASONS, Reason

from support.dtypes import PRIVATE_FORMATS, DType, size_of
from support.status import INVALID, NULL
from support.tensors import Tensor


class Trial(NamedTuple):
    """One argument that is wrong, and the code that says so."""

    parameter: str
    what: str  # "null", "data type", "rank", "size", "shape", "last size", "overlap" or "value"
    value: Any
    code: int


WRITTEN = ("Out", "InOut", "OptOut", "Packed", "TensorsOut", "TensorsInOut", "OptTensorsOut")


def covers(reason: Reason, entry_point: EntryPoint, trial: Trial) -> bool:
    whats = ("shape", "last size") if reason.what == "shape" else (reason.what,)
    return reason.entry_point in ("*", entry_point.name) and reason.parameter == trial.parameter and trial.what in whats


def trials(entry_point: EntryPoint) -> Iterator[Trial]:
    """Yield what must be refused, one wrong argument at a time."""
    arguments = sound_arguments(entry_point)
    tensors = {p.name: types_of(entry_point, p) for p in entry_point.parameters if isinstance(arguments[p.name], (Tensor, TensorList))}
    has_numbers = any(types.is_operand and dtype_of(arguments[name]) != DType.BOOL for name, types in tensors.items())
    for parameter in entry_point.parameters:
        sound = arguments[parameter.name] or typed(entry_point, parameter, sound_value(entry_point, parameter.name), arguments)
        if isinstance(sound, POINTERS) and not parameter.nullable:
            yield Trial(parameter.name, "null", None, NULL)
        if isinstance(sound, (Tensor, TensorList)):
            wrap = (lambda t: t) if isinstance(sound, Tensor) else (lambda t, others=sound.members[1:]: TensorList((t, *others)))
            yield Trial(parameter.name, "rank", wrap(Tensor((1,) * 9)), INVALID)
            yield Trial(parameter.name, "size", wrap(Tensor((2, -1), strides=(1, 1))), INVALID)
            if isinstance(sound, TensorList):
                yield Trial(parameter.name, "null", wrap(None), NULL)
            types = allowed_types(entry_point, parameter, arguments)
            unlisted = next((d for d in (DType.COMPLEX64, DType.INT64, DType.FLOAT, DType.UINT64) if d not in types), NOT_OF_ATEN)
            yield Trial(parameter.name, "data type", of_dtype(sound, unlisted), INVALID)
            stated = types_of(entry_point, parameter)
            if stated.is_result and not stated.is_operand and has_numbers:
                yield Trial(parameter.name, "data type", of_dtype(sound, DType.BOOL), INVALID)
        if parameter.kind in ("Out", "OptOut"):
            yield Trial(parameter.name, "shape", sound.but(shape=(5, 3, *sound.shape)), INVALID)
            longer = (*sound.shape[:-1], sound.shape[-1] + 1) if sound.shape else (3,)
            yield Trial(parameter.name, "last size", sound.but(shape=longer), INVALID)
        if parameter.kind in WRITTEN and isinstance(sound, Tensor) and math.prod(sound.shape) > 1:
            yield Trial(parameter.name, "overlap", sound.but(strides=(0,) * len(sound.shape)), INVALID)
        for value in kind(parameter.kind).wrong:
            yield Trial(parameter.name, "value", value, INVALID)


def told(entry_point: EntryPoint, trial: Trial, answered: str) -> str:
    """Return what is to be done about an argument that is not refused as it should be."""
    record = f"its record in csrc/vocabulary/{entry_point.family}.yaml"
    if trial.what == "data type" and answered.startswith("0"):
        name = next((dtype.name for dtype in DType if dtype == dtype_of(trial.value)), dtype_of(trial.value))
        taken = f"takes {name}, which {record} does not list"
        return f"{entry_point} {trial.parameter} {taken}: add it to `types` or, for this tensor alone, to `of`, or let phase 1 refuse it"
    wrong = f"{entry_point} {trial.parameter}: expected {trial.code} for another {trial.what}, {trial.value}, got {answered}"
    return f"{wrong}; if any is right, give the reason in `unchecked` of {record}"


@of_every_entry_point()
def test_phase_1(entry_point, client, handles):
    sound = sound_arguments(entry_point)
    code, message = answer(client, handles, entry_point, sound)
    assert code == 0, message
    for trial in trials(entry_point):
        code, message = answer(client, handles, entry_point, {**sound, trial.parameter: trial.value})
        if any(covers(reason, entry_point, trial) for reason in REASONS):
            assert code == 0, f"{trial} is refused: {message}; its reason is out of date"
        else:
            assert code == trial.code, told(entry_point, trial, f"{code} {message}")
            # Where two must fit each other, either may be named.
            is_relation = trial.value == TOO_MANY or trial.what in ("shape", "last size")
            names = "|".join(p.name for p in entry_point.parameters) if is_relation else trial.parameter
            assert re.fullmatch(rf"{entry_point}: ({names}): expected .+, got .+", message), message


@of_every_entry_point(*WRITTEN, of=(Tensor, TensorList))
def test_outputs_in_other_tensors_memory(entry_point, client, handles):
    """An output may be an input, but neither a part of one nor of another output."""
    sound = sound_arguments(entry_point)
    lists = {name: value.members for name, value in sound.items() if isinstance(value, TensorList)}
    tensors = {name: value for name, value in sound.items() if isinstance(value, Tensor)} | {n: first for n, (first, *_) in lists.items()}

    def with_these(**changed: Tensor) -> dict[str, Any]:
        return sound | {n: TensorList((tensor, *lists[n][1:])) if n in lists else tensor for n, tensor in changed.items()}

    written = [p.name for p in entry_point.parameters if p.kind in WRITTEN and p.name in tensors]
    block = client.allocate(ROOM)
    for name, other in itertools.permutations(tensors, 2):
        whole = tensors[other].but(address=block)
        # The last bytes of a private format fill a block up.
        begin = size_of(whole.dtype) * len(whole.positions()) - 8 if whole.format in PRIVATE_FORMATS else 8
        part = tensors[name].but(address=block + begin)
        if name not in written or not part.positions() or size_of(whole.dtype) * len(whole.positions()) <= 8:
            continue
        code, message = answer(client, handles, entry_point, with_these(**{name: part, other: whole}))
        assert code == INVALID and re.fullmatch(rf"{entry_point}: \w+: expected memory of its own, got .+", message), message
        same = part.but(address=block)
        if other not in written and same == whole:
            assert answer(client, handles, entry_point, with_these(**{name: same, other: whole})) == (0, "")
    client.free(block)


PIECES = {"splitSections": c_uint64(1), "dim": c_int64(0)}


@pytest.mark.parametrize(("name", "changed"), [("aclnnForeachSqrt", {}), ("aclnnForeachZeroInplace", {}), ("aclnnSplitTensor", PIECES)])
def test_members_of_a_list_of_outputs_in_one_memory(name, changed, client, handles):
    entry_point = next(e for e in ENTRY_POINTS if e.name == name)
    block = client.allocate(64)
    first, second = (TENSOR.but(shape=(1, 2), address=block + offset) for offset in (0, 4))
    two = {p.name: TensorList((first, second)) for p in entry_point.parameters if p.kind in WRITTEN}
    inputs = {p.name: TensorList((TENSOR.but(shape=(1, 2)),) * 2) for p in entry_point.parameters if p.kind == "Tensors"}
    code, message = answer(client, handles, entry_point, sound_arguments(entry_point) | inputs | two | changed)
    assert code == INVALID and re.fullmatch(rf"{name}: (out|x): expected memory of its own, got .+", message), message
    again = {name: TensorList((first, first)) for name in two}
    assert answer(client, handles, entry_point, sound_arguments(entry_point) | inputs | again | changed) == (0, "")
    client.free(block)


@pytest.mark.parametrize(("first", "stride", "is_sound"), [(0, 2, True), (4, 2, True), (8, 2, False), (0, 1, False)])
def test_a_complex_output_in_the_memory_of_its_own_parts(first, stride, is_sound, client, handles):
    """torch_npu conjugates so: the real part stays where it is."""
    block = client.allocate(64)
    part = Tensor((3,), DType.FLOAT, strides=(stride,), storage=(8,), address=block + first)
    out = Tensor((3,), DType.COMPLEX64, strides=(1,), storage=(3,), address=block)
    entry_point = next(e for e in ENTRY_POINTS if e.name == "aclnnComplex")
    refused = INVALID, "aclnnComplex: out: expected memory of its own, got memory that is also that of real"
    outcome = answer(client, handles, entry_point, {"real": part, "imag": Tensor((3,)), "out": out})
    assert outcome == ((0, "") if is_sound else refused)
    client.free(block)


def test_every_reason_is_of_use():
    all_trials = [(entry_point, trial) for entry_point in ENTRY_POINTS for trial in trials(entry_point)]
    for reason in REASONS:
        assert reason.reason and any(covers(reason, *tried) for tried in all_trials), reason
