"""A sound call of every entry point on ATen's kernels, for tests that go through their list."""

import ctypes
import functools
import re
from collections.abc import Collection, Iterable
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from arguments import KINDS, ROOM, TENSOR, BoolArray, Handles, IntArray, Scalar, TensorList, kind, number, number_of
from torch_aclnn.host.registry import EntryPoint, Parameter, entry_points
from torch_aclnn.loading.paths import libdir

from support.client import Client
from support.dtypes import DType, Format, pack
from support.marks import PRODUCT
from support.operators import ENTRY_POINTS as ON_KERNELS
from support.tensors import Tensor
from support.vocabulary import RECORDS

if TYPE_CHECKING:
    import pytest

ENTRY_POINTS = [entry_point for entry_point in entry_points() if entry_point.parameters and entry_point.name not in ON_KERNELS]
# What the product has.
OFFERED = [entry_point for entry_point in ENTRY_POINTS if RECORDS[entry_point.name].only_on in ("", PRODUCT)]


def _one_of_each_kind(chosen: list[EntryPoint], of: tuple[type, ...]) -> set[EntryPoint]:
    # A few entry points whose sound calls have each kind of argument of these classes: arguments are read and checked by their kind.
    arguments = {e: _usual_arguments(e) for e in chosen}
    kinds = {e: {p.kind.partition(" in ")[0] for p in e.parameters if isinstance(arguments[e][p.name], of)} for e in chosen}
    left, few = set().union(*kinds.values()), set()
    while left:
        few.add(most := max(chosen, key=lambda entry_point: len(kinds[entry_point] & left)))
        left -= kinds[most]
    return few


def of_every_entry_point(*with_one_of: str, without: Collection[str] = (), of: tuple[type, ...] = (object,)) -> "pytest.MarkDecorator":
    """Parametrise a test by entry point; beyond one of each kind of argument they are of the tier ``every``.

    Args:
        with_one_of: kinds of arguments, of which an entry point must have one; none of them: all entry points.
        without: names that are left out.
        of: the classes of the arguments that the test is about.

    """
    import pytest  # programs without pytest take the calls only

    chosen = [e for e in OFFERED if not with_one_of or any(parameter.kind in with_one_of for parameter in e.parameters)]
    chosen = [e for e in chosen if e.name not in without]
    few = _one_of_each_kind(chosen, of)
    rows = [pytest.param(e, id=str(e), marks=() if e in few else pytest.mark.every) for e in chosen]
    return pytest.mark.parametrize("entry_point", rows)


POINTERS = (Tensor, TensorList, Scalar, IntArray, BoolArray, ctypes.c_char_p, type(KINDS["Scalars"].sound))


def _parsed(text: str) -> dict[str, str]:
    found = {}
    for part in filter(None, text.split("; ")):
        if "[" in part:
            names, _, members = part.partition(" [")
            found |= dict.fromkeys(names.split(), f"[{members}")
        elif "=" in part:
            parameter, _, value = part.partition("=")
            found[parameter] = value
        else:
            *names, shape = part.split(" ")
            found |= dict.fromkeys(names, shape)
    return found


@functools.cache
def stated(name: str) -> dict[str, str]:
    """Return the sound call of an entry point's record: by parameter, the shape, list, or value.

    A question mark in front of a name is for a value that the sound call has not, but another may.
    """
    return _parsed(RECORDS[name].sound)


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(size) for size in text.strip("()").split(",") if size)


def _tensor(text: str, usually: Tensor) -> Tensor:
    # A shape, behind a data type or in front of the shape of the blocks in memory: INT8:2,2/1,1,16,8
    shape, _, storage = text.partition("/")
    dtype, colon, sizes = shape.rpartition(":")
    made = usually.but(shape=_sizes(sizes), dtype=number_of(dtype) if colon else usually.dtype)
    return made.but(storage=_sizes(storage), format=Format.FRACTAL_NZ) if storage else made


def _value(text: str, usually: Any) -> Any:
    # The value that the record has for the parameter, in place of its kind's.
    if text == "null":
        return None
    if isinstance(usually, Tensor):
        return _tensor(text, usually)
    if isinstance(usually, TensorList):
        return TensorList(tuple(_tensor(member, TENSOR) for member in text.strip("[]").split(" ")))
    if isinstance(usually, IntArray):
        return IntArray(_sizes(text))
    if isinstance(usually, Scalar):
        dtype, _, value = text.rpartition(":")
        return Scalar(number_of(dtype), pack(DType[dtype], int(value)).ljust(16, b"\0")) if dtype else number(float(value))
    if isinstance(usually, ctypes.c_char_p):
        return ctypes.c_char_p(text.encode())
    return type(usually)(text == "true" if isinstance(usually, ctypes.c_bool) else float(text) if "." in text else int(text))


def sound_value(entry_point: EntryPoint, name: str) -> Any:
    """Return a value for a parameter that is sound, whether or not it may be null."""
    usually = next(kind(parameter.kind).sound for parameter in entry_point.parameters if parameter.name == name)
    own = stated(entry_point.name)
    text = own.get(name, own.get(f"?{name}"))
    return usually if text is None else _value(text, usually)


class Misshapen(NamedTuple):
    """A tensor that phase 1 refuses for its shape."""

    parameter: str
    shape: tuple[int, ...]
    expected: tuple[int, ...]


def misshapen(message: str) -> Misshapen | None:
    """Return the shape that a message of phase 1 names, or None if it is not about a shape."""
    expected = r"shape \[([\w, ]*)\]|(\d+) elements|(?:at least )?(\d+)(?: or \d+)? dimensions?\b"
    found = re.search(rf": (\w+)(?:\[\d+\])?: expected (?:{expected}).*, got shape \[([\d, ]*)\]", message)
    if found is None:
        return None
    name, text, count, rank, got = found.groups()
    shape = tuple(int(size) for size in got.split(",") if size.strip())
    if rank:
        return Misshapen(name, shape, ((1,) * int(rank) + shape)[-int(rank) :])
    sizes = [size.strip() for size in (text if count is None else count).split(",") if size]
    fitting = (own if size == "any" else int(size) for size, own in zip_longest(sizes, shape[: len(sizes)], fillvalue=1))
    return Misshapen(name, shape, tuple(fitting))


@functools.cache
def _memory() -> tuple[Client, int]:
    client = Client(libdir())
    client.acl.ok("aclrtSetDevice", 0)
    return client, client.allocate(64 * ROOM)


@functools.cache
def sound_arguments(entry_point: EntryPoint) -> dict[str, Any]:
    """Return an argument for each parameter; null for those that may be, unless the record says more.

    A tensor of whose shape the record says nothing has the one that phase 1 asks for.
    """
    arguments = _usual_arguments(entry_point)
    client, memory = _memory()
    handles = Handles(client, memory, 64)
    for _ in arguments:
        refused = misshapen(answer(client, handles, entry_point, arguments)[1])
        if refused is None or refused.parameter in stated(entry_point.name):
            break
        value, shape = arguments[refused.parameter], refused.expected
        is_list = isinstance(value, TensorList)
        arguments[refused.parameter] = TensorList((value.members[0].but(shape=shape),)) if is_list else value.but(shape=shape)
    handles.destroy()
    return arguments


def _usual_arguments(entry_point: EntryPoint) -> dict[str, Any]:
    own = stated(entry_point.name)
    arguments = {p.name: None if p.nullable and p.name not in own else sound_value(entry_point, p.name) for p in entry_point.parameters}
    for parameter in entry_point.parameters:
        arguments[parameter.name] = typed(entry_point, parameter, arguments[parameter.name], arguments)
    if DType.FLOAT not in entry_point.data_types:
        arguments |= {name: Scalar(DType.INT64) for name, value in arguments.items() if type(value) is Scalar}
    return arguments


def changed(entry_point: EntryPoint, text: str) -> dict[str, Any]:
    """Return the arguments of the sound call with others, in the words of a record."""
    sound, parameters = sound_arguments(entry_point), {parameter.name: parameter for parameter in entry_point.parameters}
    usually = {name: sound[name] or typed(entry_point, parameters[name], sound_value(entry_point, name), sound) for name in _parsed(text)}
    return sound | {name: _value(value, usually[name]) for name, value in _parsed(text).items()}


def typed(entry_point: EntryPoint, parameter: Parameter, value: Any, arguments: dict[str, Any]) -> Any:
    """Return the value with a data type that its record lists, unless the sound call states one."""
    if not isinstance(value, (Tensor, TensorList)) or ":" in stated(entry_point.name).get(parameter.name, ""):
        return value
    types = allowed_types(entry_point, parameter, arguments)
    return value if dtype_of(value) in types else of_dtype(value, usual(types))


def allowed_types(entry_point: EntryPoint, parameter: Parameter, arguments: dict[str, Any]) -> frozenset[int]:
    """Return the data types that a tensor may have beside the other arguments."""
    same_as = types_of(entry_point, parameter).same_as
    other = same_as and arguments[same_as]
    return parameter.data_types | ({dtype_of(other)} if other else set())


def types_of(entry_point: EntryPoint, parameter: Parameter) -> Any:
    """Return the data types of a tensor by its record."""
    record = RECORDS[entry_point.name]
    return record.types_of(next(p for p in record.parameters if p.name == parameter.name))


def dtype_of(value: Any) -> int:
    """Return the data type of a tensor, or of the first one of a list."""
    return (value if isinstance(value, Tensor) else value.members[0]).dtype


def usual(data_types: frozenset[int]) -> int:
    """Return FLOAT if it is one of the data types, else another of them."""
    return next((dtype for dtype in (DType.FLOAT, DType.INT64) if dtype in data_types), min(data_types))


def of_dtype(value: Any, dtype: int) -> Any:
    """Return a tensor, or a list of them, with this data type; null stays null."""
    if isinstance(value, Tensor):
        return value.but(dtype=dtype)
    return value and TensorList(tuple(member.but(dtype=dtype) for member in value.members))


@functools.cache
def _functions() -> ctypes.CDLL:
    return ctypes.CDLL("libaclnn_math.so")


def phase1(entry_point: EntryPoint, arguments: Iterable[Any]) -> tuple[int, ctypes.c_void_p, int]:
    """Return the code of phase 1, the executor, and the size of the workspace that it asks for."""
    function = getattr(_functions(), entry_point.name + "GetWorkspaceSize")
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    return function(*arguments, ctypes.byref(size), ctypes.byref(executor)), executor, size.value


def phase2(entry_point: EntryPoint, executor: ctypes.c_void_p, workspace: int | None = None, size: int = 0) -> int:
    """Return the code of phase 2."""
    function = getattr(_functions(), entry_point.name)
    return function(ctypes.c_void_p(workspace), ctypes.c_uint64(size), executor, None)


def answer(client: Client, handles: Handles, entry_point: EntryPoint, arguments: dict[str, Any]) -> tuple[int, str]:
    """Return the code of phase 1 and its message, and destroy the executor."""
    client.opapi.UnInitPTACacheThreadLocal()  # a call of torch_npu that was refused leaves its key in the thread
    code, executor, _ = phase1(entry_point, handles.of_call(arguments).values())
    if code == 0:
        client.destroy("AclOpExecutor", executor)
    return code, "" if code == 0 else client.message()
