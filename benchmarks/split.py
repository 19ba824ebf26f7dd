"""What a call of torch_npu on tensors of 16 elements consists of: the engine's handles and phases, and what is torch_npu's own."""

import ctypes
import statistics
from collections.abc import Callable, Sequence
from ctypes import byref, c_bool, c_double, c_float, c_int, c_int8, c_int64, c_uint64, c_void_p
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from time import perf_counter
from typing import Any

import torch
from rich.console import Console
from torch import Tensor
from torch.nn import functional
from torch_aclnn.loading.paths import libdir

from benchmarks.tables import make_table
from benchmarks.timing import seconds_per_call

CALLS = 200  # make a round
BETWEEN_PHASES = 8  # calls that have had phase 1 before the first has phase 2
ACL_DTYPES = {torch.float32: 0, torch.int64: 9}
ACL_FORMAT_ND = 2


@dataclass(frozen=True)
class Number:
    """A number that is passed in an aclScalar."""

    value: float


@dataclass(frozen=True)
class Call:
    """A call from Python, and the same of the entry point that torch_npu makes of it."""

    call: Callable[[], Any]
    entry_point: str
    arguments: Sequence[Any]  # tensors, lists of tensors, tuples of integers, a Number, None, or what ctypes takes


def calls(device: str) -> dict[str, Call]:
    """Return those that are measured, of what most training steps have."""
    x = torch.arange(1.0, 17.0, device=device).view(4, 4)
    y, out, moments, one = x.clone(), torch.empty_like(x), [torch.zeros_like(x) for _ in range(2)], torch.ones((), device=device)
    row, rows, total = torch.ones(4, device=device), torch.empty(4, 1, device=device), torch.empty((), device=device)
    image, filters, filtered = x.view(1, 1, 4, 4), torch.ones(1, 1, 3, 3, device=device), torch.empty(1, 1, 2, 2, device=device)
    index, bias = torch.tensor([0, 2, 1, 3], device=device), torch.ones(1, device=device)
    adam = partial(torch._fused_adamw_, [x], [y], *([moment] for moment in moments), [], [one], amsgrad=False, maximize=False)
    rates = {"lr": 1e-3, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.01, "eps": 1e-8}
    return {
        "add": Call(lambda: torch.add(x, y), "aclnnAdd", (x, y, Number(1), out)),
        "sum": Call(lambda: torch.sum(x), "aclnnReduceSum", (x, (0, 1), c_bool(False), c_int(0), total)),
        "mm": Call(lambda: torch.mm(x, y), "aclnnMm", (x, y, out, c_int8(1))),
        "convolution": Call(
            lambda: functional.conv2d(image, filters, bias),
            "aclnnConvolution",
            (image, filters, bias, (1, 1), (0, 0), (1, 1), c_bool(False), (0, 0), c_int64(1), filtered, c_int8(1)),
        ),
        "layer norm": Call(
            lambda: torch.native_layer_norm(x, (4,), row, row, 1e-5),
            "aclnnLayerNorm",
            (x, (4,), row, row, c_double(1e-5), out, rows, rows.clone()),
        ),
        "softmax": Call(lambda: torch.softmax(x, -1), "aclnnSoftmax", (x, c_int64(-1), out)),
        "gelu": Call(lambda: functional.gelu(x), "aclnnGelu", (x, out)),
        "cat": Call(lambda: torch.cat((x, y)), "aclnnCat", ([x, y], c_int64(0), torch.cat((x, y)))),
        "embedding": Call(lambda: torch.embedding(x, index), "aclnnEmbedding", (x, index, out)),
        "AdamW": Call(
            lambda: adam(**rates),
            "aclnnApplyAdamWV2",
            (x, *moments, None, y, one, *map(c_float, rates.values()), c_bool(False), c_bool(False)),
        ),
    }


@dataclass(frozen=True)
class Split:
    """Microseconds per call: from Python on npu, of that in the engine, and of ATen's operator from Python on cpu."""

    name: str
    npu_us: float
    handles_us: float
    phase1_us: float
    phase2_us: float
    cpu_us: float

    @property
    def engine_us(self) -> float:
        """Handles and phases."""
        return self.handles_us + self.phase1_us + self.phase2_us

    @property
    def torch_npu_us(self) -> float:
        """The rest: Python, torch's dispatcher, and torch_npu."""
        return self.npu_us - self.engine_us


def _loaded(name: str) -> Any:
    return ctypes.PyDLL(str(libdir() / "libopapi.so"))[name]


def _nothing(name: str) -> Any:
    return ctypes.PyDLL(None)["abs"]


def _handle(function: Callable[[str], Any], argument: Any) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    """Return a function that makes the C argument, and one that destroys it."""

    def named(kind: str, *arguments: Any) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
        create, destroy = function(f"aclCreate{kind}"), function(f"aclDestroy{kind}")
        create.restype, destroy.argtypes = c_void_p, [c_void_p]
        return partial(create, *arguments), destroy

    if isinstance(argument, Tensor):
        sizes, strides, rank = _int64s(argument.shape), _int64s(argument.stride()), c_uint64(argument.dim())
        view = sizes, rank, c_int(ACL_DTYPES[argument.dtype]), strides, c_int64(0), c_int(ACL_FORMAT_ND)
        return named("Tensor", *view, sizes, rank, c_void_p(argument.data_ptr()))
    if isinstance(argument, tuple):
        return named("IntArray", _int64s(argument), c_uint64(len(argument)))
    if isinstance(argument, Number):
        return named("Scalar", byref(c_float(argument.value)), c_int(ACL_DTYPES[torch.float32]))
    if isinstance(argument, list):
        members, array = [_handle(function, member)[0] for member in argument], c_void_p * len(argument)
        create, destroy = named("TensorList")
        return lambda: create(array(*(member() for member in members)), c_uint64(len(members))), destroy
    return lambda: argument, lambda handle: None


def _int64s(values: Sequence[int]) -> Any:
    return (c_int64 * len(values))(*values)


def _seconds_per_part(function: Callable[[str], Any], call: Call) -> Callable[[], tuple[float, float, float]]:
    """Return a function that tells what handles, phase 1 and phase 2 of a call take."""
    handles = [_handle(function, argument) for argument in call.arguments]
    arguments = [c_void_p(made) if isinstance(made := create(), int) else made for create, _ in handles]
    phase1, phase2 = function(f"{call.entry_point}GetWorkspaceSize"), function(call.entry_point)
    phase2.argtypes = [c_void_p, c_uint64, c_void_p, c_void_p]
    size, executors = c_uint64(), (c_void_p * BETWEEN_PHASES)()
    places = [byref(executors, index * ctypes.sizeof(c_void_p)) for index in range(BETWEEN_PHASES)]

    prepared = phase1(*arguments, byref(size), places[0])
    workspace = torch.empty(size.value, dtype=torch.uint8, device="npu")
    rest = c_void_p(workspace.data_ptr()), size
    if function is _loaded and (prepared != 0 or phase2(*rest, executors[0], None) != 0):
        raise RuntimeError(f"{call.entry_point} refused the call of the benchmark")

    def make_handles() -> None:
        for create, destroy in handles:
            destroy(create())

    def prepare() -> None:
        for place in places:
            phase1(*arguments, byref(size), place)

    def run() -> None:
        for executor in executors:
            phase2(*rest, executor, None)

    def measured() -> tuple[float, float, float]:
        preparing = running = 0.0
        for _ in range(CALLS // BETWEEN_PHASES):
            start = perf_counter()
            prepare()
            prepared = perf_counter()
            run()
            preparing, running = preparing + prepared - start, running + perf_counter() - prepared
        return seconds_per_call(make_handles, CALLS), preparing / CALLS, running / CALLS

    return measured


def measure(rounds: int) -> list[Split]:
    """Time all calls, in turns with what ctypes and Python take for the same of a function that does nothing."""
    on_cpu = calls("cpu")
    return [_measure_one(name, call, on_cpu[name].call, rounds) for name, call in calls("npu").items()]


def _measure_one(name: str, call: Call, on_cpu: Callable[[], Any], rounds: int) -> Split:
    whole = [partial(seconds_per_call, side, CALLS) for side in (call.call, on_cpu)]
    parts, ctypes_parts = (_seconds_per_part(function, call) for function in (_loaded, _nothing))
    taken = [[*(timed() for timed in whole), *parts(), *ctypes_parts()] for _ in range(1 + rounds)][1:]  # the first round warms up
    npu, cpu, *rest = (1e6 * statistics.median(times) for times in zip(*taken, strict=True))
    handles, phase1, phase2 = (part - ctypes_part for part, ctypes_part in zip(rest[:3], rest[3:], strict=True))
    return Split(name, npu, handles, phase1, phase2, cpu)


def send(sender: Connection, rounds: int) -> None:
    """Measure in a process of its own."""
    torch.set_num_threads(1)
    sender.send(measure(rounds))


def print_split(console: Console, splits: Sequence[Split]) -> None:
    """Print a row for each call."""
    columns = ["npu", "torch_npu", "handles", "phase 1", "phase 2", "ATen on cpu"]
    table = make_table("16 elements", columns, title="microseconds per call on npu without queue and cache, and what they consist of")
    for split in splits:
        parts = split.npu_us, split.torch_npu_us, split.handles_us, split.phase1_us, split.phase2_us, split.cpu_us
        table.add_row(split.name, *(f"{part:.2f}" for part in parts))
    console.print(table)
