"""The cost of a call in addition to the work: microseconds, bytes kept alive, and launches."""

import copy
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch_npu
from torch_aclnn import host
from torch import Tensor, nn
from torch.autograd.graph import get_gradient_edge
from torch.utils._python_dispatch import TorchDispatchMode
from torch_aclnn.check.families import SPECIFICATIONS
from torch_aclnn.check.pairs import Call, operator_calls
from torch_aclnn.check.records import FAILED, PASSED, Check, Cost, Launches
from torch_aclnn.conversion import convert

_CALLS, _ROUNDS = 100, 20

# Shapes that take turns where no call shall find its executor: whichever one the library keeps, most calls are of another shape.
_SHAPES = 20

# torch_npu's allocator hands out blocks of this size.
_BLOCK = 512


def calling_cost(name: str, mode: int, is_cached: bool = True) -> Cost:
    """Time the operator and torch_npu's own in turns, and take the shortest rounds, which other programs disturbed least."""
    pairs = [operator_calls(name, 1 + batch) for batch in range(1 if is_cached else _SHAPES)]
    ours, torchs = ([call for call in of_each if call is not None] for of_each in zip(*pairs, strict=True))
    rounds = [[_microseconds(calls) for calls in (ours, torchs) if calls] for _ in range(_ROUNDS)]
    shortest = [min(column) for column in zip(*rounds, strict=True)]
    return Cost(name, mode, shortest[0], shortest[1] if torchs else None, _cache_hits(ours), is_cached)


def _cache_hits(calls: Sequence[Call]) -> int | None:
    if not host.is_active():
        return None
    before = host.statistics().cache_hits
    _microseconds(calls)
    return host.statistics().cache_hits - before


def _microseconds(calls: Sequence[Call]) -> float:
    """Return the time of a call, where these take turns."""
    in_turn = [calls[number % len(calls)] for number in range(_CALLS)]
    start = time.perf_counter()
    for call in in_turn:
        call()
    torch_npu.npu.synchronize()
    return (time.perf_counter() - start) / _CALLS * 1e6


def kept_bytes(name: str, mode: int) -> Check:
    """Compare what the graph of one layer keeps between forward and backward; ours must not keep more."""
    specification = SPECIFICATIONS[name]
    input = torch.ones(specification.layer_shape).to("npu").requires_grad_()
    ours, torchs = (_kept(layer, input) for layer in specification.layers(input))
    message = f"keeps {ours:,} bytes where torch's own keeps {torchs:,}" if ours > torchs + _BLOCK else None
    return Check("memory", name, FAILED if message else PASSED, mode, "float32", bytes=(ours, torchs), message=message)


def _kept(layer: Callable[[Tensor], Tensor], input: Tensor) -> int:
    """Return the bytes. The layer's input is a product with a number, which saves nothing, so it dies here unless the layer saves it."""
    layer(input * 1.0)  # a first call may allocate what stays
    before = _allocated()
    edge = get_gradient_edge(layer(input * 1.0))
    kept = _allocated() - before
    del edge
    return kept


def _allocated() -> int:
    torch_npu.npu.synchronize()  # the task queue holds the tensors of what it has not done yet
    return torch_npu.npu.memory_allocated()


def network() -> nn.Module:
    """Return a small CNN with a layer of most of the families."""
    first = nn.ReplicationPad2d(1), nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AvgPool2d(2)
    second = nn.ReplicationPad2d(1), nn.Conv2d(8, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(2)
    return nn.Sequential(*first, *second, nn.Flatten(), nn.Linear(64, 10))


class _Dispatches(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += 1
        return func(*args, **(kwargs or {}))


def launches() -> Launches:
    """Count what a training step of a small CNN takes: launches on the engine; CANN has no count, so there it is operators dispatched.

    While a TorchDispatchMode watches, converted batch norm is made of other operators than it is otherwise, so it is not counted so.
    """
    plain = network().to("npu")
    without, with_batch_norm = (convert(copy.deepcopy(plain), batch_norm=batch_norm) for batch_norm in (False, True))
    if host.is_active():
        return Launches("entry points launched", *map(_launched, (plain, without, with_batch_norm)))
    return Launches("operators dispatched", _dispatched(plain), _dispatched(without), None)


def _launched(network: nn.Module) -> int:
    _step(network)
    host.reset()
    _step(network)
    return sum(host.statistics().calls.values())


def _dispatched(network: nn.Module) -> int:
    _step(network)
    with _Dispatches() as dispatches:
        _step(network)
    return dispatches.count


def _step(network: nn.Module) -> None:
    """Take one step of SGD."""
    optimizer = torch.optim.SGD(network.parameters(), 0.01)
    images, labels = torch.ones(8, 3, 16, 16).to("npu"), torch.zeros(8, dtype=torch.int64).to("npu")
    nn.functional.cross_entropy(network(images), labels).backward()
    optimizer.step()
    torch_npu.npu.synchronize()
