"""Phase 1 of every entry point on ATen's kernels, generated from their list: sound arguments are accepted, and each wrong one is refused by
name with the documented code. What is not refused has a row with a reason in unrefused.tsv.

A null means "not given" where the list says so, which follows from the kind (OptIn, OptTensors, ...); anywhere else it is wrong.
"""

import csv
import ctypes
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from arguments import KINDS, NOT_OF_ATEN, TENSOR, TOO_MANY, BoolArray, Handles, IntArray, Scalar, TensorList, kind
from registry import EntryPoint, entry_points
from torch_aclnn.host import libdir

from host.opapi.client import INVALID, NULL, Client, DType, Tensor

ENTRY_POINTS = entry_points()
POINTERS = (Tensor, TensorList, Scalar, IntArray, BoolArray, ctypes.c_char_p, type(KINDS["Scalars"].sound))

# Sound arguments that differ from the kind's, because of what must hold between them.
_HEADS = {name: Tensor((1, 1, 2, 2)) for name in ("query", "key", "value")}
_TOKENS = {name: Tensor((2, 1, 2)) for name in ("query", "key", "value")}
_MASK = Tensor((1, 2, 16), DType.INT8)
_TWO = TensorList((TENSOR, TENSOR))
_WEIGHTS = {gates: TensorList((Tensor((gates * 2, 2)),) * 2) for gates in (3, 4)}
SOUND: dict[str, dict[str, Any]] = {
    "aclnnConstantPadNd": {"padding": IntArray((0, 0))},
    "aclnnRepeat": {"repeats": IntArray((1, 1))},
    "aclnnRoll": {"dims": IntArray((0,))},
    "aclnnFlashAttentionScore": _HEADS,
    "aclnnFlashAttentionScoreGrad": _HEADS,
    "aclnnFlashAttentionVarLenScore": _TOKENS,
    "aclnnFlashAttentionUnpaddingScoreGrad": _TOKENS,
    "aclnnMaxPool2dWithMask": {"out": Tensor((1, 2, 2)), "indices": _MASK},
    "aclnnMaxPool2dWithMaskBackward": {"gradOutput": Tensor((1, 2, 2)), "indices": _MASK},
    "aclnnLSTM": {"params": _WEIGHTS[4], "hx": _TWO},
    "aclnnLstmBackward": {"params": _WEIGHTS[4], "hx": _TWO, "dparams": _TWO},
    **{f"aclnnForeachAddc{name}ScalarList": {"scalars": Tensor((1,))} for name in ("mul", "div")},
    "aclnnGRU": {"params": _WEIGHTS[3]},
    "aclnnGRUBackward": {"params": _WEIGHTS[3], "dparams": _TWO},
    "aclnnThnnFusedLstmCell": {"inputGates": Tensor((2, 8)), "hiddenGates": Tensor((2, 8))},
    "aclnnThnnFusedLstmCellBackward": {"storage": Tensor((2, 8))},
    "aclnnLayerNormBackward": {"mean": Tensor((2,)), "rstd": Tensor((2,))},
}


class Trial(NamedTuple):
    """One argument that is wrong, and the code that says so."""

    parameter: str
    what: str  # "null", "data type", "rank", "size" or "value"
    value: Any
    code: int


class Reason(NamedTuple):
    entry_point: str  # or * for all
    parameter: str
    what: str
    reason: str

    def covers(self, entry_point: EntryPoint, trial: Trial) -> bool:
        return self.entry_point in ("*", entry_point.name) and (self.parameter, self.what) == (trial.parameter, trial.what)


def reasons() -> list[Reason]:
    with (Path(__file__).parent / "unrefused.tsv").open(newline="") as file:
        return [Reason(*row) for row in list(csv.reader(file, delimiter="\t"))[1:]]


REASONS = reasons()


def sound_arguments(entry_point: EntryPoint) -> dict[str, Any]:
    """Return an argument for each parameter; null for those that may be."""
    arguments = {p.name: None if p.nullable else kind(p.kind).sound for p in entry_point.parameters}
    with_dtype = next(name for name, value in arguments.items() if isinstance(value, (Tensor, TensorList)))
    dtype = DType.FLOAT if DType.FLOAT in entry_point.data_types else min(entry_point.data_types)
    own = SOUND.get(entry_point.name, {})
    assert arguments.keys() >= own.keys()
    arguments.update(own)
    first = arguments[with_dtype]
    typed = first.but(dtype=dtype) if isinstance(first, Tensor) else TensorList(tuple(m.but(dtype=dtype) for m in first.members))
    return {**arguments, with_dtype: typed}


def trials(entry_point: EntryPoint) -> Iterator[Trial]:
    """Yield what must be refused, one wrong argument at a time."""
    unlisted = next((d for d in (DType.COMPLEX64, DType.INT64, DType.FLOAT, DType.UINT64) if d not in entry_point.data_types), NOT_OF_ATEN)
    first = True
    for parameter in entry_point.parameters:
        sound = SOUND.get(entry_point.name, {}).get(parameter.name, kind(parameter.kind).sound)
        if isinstance(sound, POINTERS) and not parameter.nullable:
            yield Trial(parameter.name, "null", None, NULL)
        if isinstance(sound, (Tensor, TensorList)):
            wrap = (lambda t: t) if isinstance(sound, Tensor) else (lambda t, others=sound.members[1:]: TensorList((t, *others)))
            yield Trial(parameter.name, "rank", wrap(Tensor((1,) * 9)), INVALID)
            yield Trial(parameter.name, "size", wrap(Tensor((2, -1), strides=(1, 1))), INVALID)
            if isinstance(sound, TensorList):
                yield Trial(parameter.name, "null", wrap(None), NULL)
            if first:
                yield Trial(parameter.name, "data type", wrap(TENSOR.but(dtype=unlisted)), INVALID)
            first = False
        for value in kind(parameter.kind).wrong:
            yield Trial(parameter.name, "value", value, INVALID)


@pytest.fixture(scope="module")
def client() -> Client:
    return Client(libdir())


@pytest.fixture(scope="module")
def handles(client: Client) -> Iterator[Handles]:
    memory = ctypes.c_void_p()
    assert client.acl.aclrtSetDevice(0) == 0
    assert client.acl.aclrtMalloc(ctypes.byref(memory), ctypes.c_size_t(4096), 0) == 0
    made = Handles(client, memory.value)
    yield made
    made.destroy()
    client.acl.aclrtFree(memory)


def answer(client: Client, handles: Handles, entry_point: EntryPoint, arguments: dict[str, Any]) -> tuple[int, str]:
    """Run phase 1 and return its code and message."""
    phase1 = getattr(ctypes.CDLL("libaclnn_math.so"), entry_point.name + "GetWorkspaceSize")
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    code = phase1(*map(handles.of, arguments.values()), ctypes.byref(size), ctypes.byref(executor))
    if code == 0:
        client.destroy("AclOpExecutor", executor)
    return code, "" if code == 0 else client.sentence()


@pytest.mark.parametrize("entry_point", ENTRY_POINTS, ids=str)
def test_phase_1(entry_point, client, handles):
    sound = sound_arguments(entry_point)
    assert answer(client, handles, entry_point, sound) == (0, "")
    for trial in trials(entry_point):
        code, message = answer(client, handles, entry_point, {**sound, trial.parameter: trial.value})
        if any(reason.covers(entry_point, trial) for reason in REASONS):
            assert code == 0, f"{trial} is refused: {message}; its row in unrefused.tsv is out of date"
        else:
            assert code == trial.code, (trial, message)
            # Where two lists must have one length, either may be named.
            names = "|".join(p.name for p in entry_point.parameters) if trial.value == TOO_MANY else trial.parameter
            assert re.fullmatch(rf"{entry_point}: ({names}): expected .+, got .+", message), message


def test_every_reason_is_of_use():
    for reason in REASONS:
        tried = [trial for entry_point in ENTRY_POINTS for trial in trials(entry_point) if reason.covers(entry_point, trial)]
        assert tried and reason.reason, reason


def test_the_list_has_all_that_the_library_exports():
    symbols = (libdir() / "libaclnn_math.so").read_bytes().split(b"\0")
    exported = {symbol.decode().removesuffix("GetWorkspaceSize") for symbol in symbols if symbol.endswith(b"GetWorkspaceSize")}
    assert {entry_point.name for entry_point in ENTRY_POINTS} == {name for name in exported if name.isidentifier()}
