"""How long the device needs for the backward of layers of the sizes of networks, by events."""

from collections.abc import Callable
from typing import Any

import torch_aclnn
import torch
import torch_npu
from torch import Tensor, nn
from torch_aclnn.check.layers import Layer, input_of
from torch_aclnn.check.records import DeviceTime
from torch_aclnn.check.values import deterministic_algorithms

_CALLS, _ROUNDS = 5, 3


def device_time(layer: Layer, mode: int, is_cached: bool) -> DeviceTime:
    """Time our backward, with and without deterministic algorithms, and that of torch_npu's own layer, in float32."""
    ours, theirs = (_backward(package, layer) for package in (torch_aclnn.nn, nn))
    between = _nothing if is_cached else _another_call
    shortest = _microseconds(ours, between)
    with deterministic_algorithms():
        deterministic = _microseconds(ours, between)
    torchs = _microseconds(theirs, between)
    return DeviceTime(layer.operator, layer.network or layer.module, mode, shortest, deterministic, torchs, is_cached)


def _backward(package: Any, layer: Layer) -> Callable[[], Any]:
    model = getattr(package, layer.module)(*layer.arguments).to("npu")
    input, further = input_of(layer, torch.float32)
    x: Tensor = input.to("npu").requires_grad_()
    output = model(x, *(t.to("npu") for t in further))
    gradient = torch.ones_like(output)
    return lambda: torch.autograd.grad(output, x, gradient, retain_graph=True)


def _nothing() -> None: ...


def _another_call() -> None:
    """Make a call whose executor takes the one place that the operator library has for executors."""
    torch.ones(1, device="npu").neg()


def _microseconds(call: Callable[[], Any], between: Callable[[], None]) -> float:
    """Return the time between two events around a call, of the shortest of some rounds."""
    call()
    return min(_round(call, between) for _ in range(_ROUNDS))


def _round(call: Callable[[], Any], between: Callable[[], None]) -> float:
    """Return the time of a call; what is done between the calls does not count."""
    events = [[torch_npu.npu.Event(enable_timing=True) for _ in range(2)] for _ in range(_CALLS)]
    for begin, end in events:
        between()
        begin.record()
        call()
        end.record()
    torch_npu.npu.synchronize()
    milliseconds: float = sum(begin.elapsed_time(end) for begin, end in events)
    return milliseconds / _CALLS * 1e3
