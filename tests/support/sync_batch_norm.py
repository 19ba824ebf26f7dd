"""Cases of synchronised batch norm: what each process computes, and the same of a single process in float64."""

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch_aclnn
import torch
import torch.distributed as dist
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop

CHANNELS = 3
ALL_GATHER = "all_gather_single" if hasattr(dist, "all_gather_single") else "all_gather_into_tensor"  # before torch 2.13


def gradient_of(leaf: torch.Tensor) -> torch.Tensor:
    """Return the gradient; torch's layer gives none, which means zeros, in a process with an empty batch."""
    return torch.zeros_like(leaf) if leaf.grad is None else leaf.grad


@dataclasses.dataclass(frozen=True)
class Case:
    """One layer in training, for a number of batches; `rows` of each batch are the processes', repeated if there are more of them."""

    name: str
    inner: tuple[int, ...] = (4, 5)
    rows: tuple[int, ...] = (3,)
    dtype: torch.dtype = torch.float32
    parameters: torch.dtype = torch.float32
    batches: int = 2
    offset: float = 0.5
    tolerance: float = 1e-5
    memory_format: torch.memory_format = torch.contiguous_format
    options: tuple[tuple[str, Any], ...] = ()
    reentrant: bool | None = None  # the kind of torch.utils.checkpoint that it runs under, if any

    def sizes(self, processes: int) -> list[int]:
        return [self.rows[rank % len(self.rows)] for rank in range(processes)]

    def batch(self, index: int, processes: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the joint batch and its output's gradient, of the case's dtype, as every process makes them."""
        generator = torch.Generator().manual_seed(index)
        shape = (sum(self.sizes(processes)), CHANNELS, *self.inner)
        values = [torch.randn(shape, generator=generator, dtype=torch.float64) for _ in range(2)]
        return tuple((v + shift).to(self.dtype) for v, shift in zip(values, (self.offset, 0.1), strict=True))

    def layer(self, kind: type[torch.nn.Module], dtype: torch.dtype) -> torch.nn.Module:
        layer, generator = kind(CHANNELS, **dict(self.options)), torch.Generator().manual_seed(7)
        for value in (v for v in layer.state_dict().values() if v.is_floating_point()):
            value.copy_(torch.rand(CHANNELS, generator=generator) + 0.5)
        return layer.to(dtype)

    def results(self, layer: torch.nn.Module, parts: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> dict[str, torch.Tensor]:
        """Train with the batches; return outputs, gradients and state."""
        results = {}
        for index, (data, gradient) in enumerate(parts):
            x = data.requires_grad_()
            # Otherwise running statistics, which ours moves after the last tensor that it saves, would not move again.
            with set_checkpoint_early_stop(False):
                output = layer(x) if self.reentrant is None else checkpoint(layer, x, use_reentrant=self.reentrant)
            output.backward(gradient)
            results |= {f"output {index}": output.detach(), f"gradient {index}": gradient_of(x)}
        results |= {f"gradient of {name}": gradient_of(p) for name, p in layer.named_parameters()}
        return {name: value.cpu() for name, value in (results | layer.state_dict()).items()}


F16, BF16, F64 = torch.float16, torch.bfloat16, torch.float64
CASES = (
    Case("plain"),
    Case("rank 2", inner=(), rows=(5,)),
    Case("rank 3", inner=(6,)),
    Case("rank 5", inner=(2, 3, 4)),
    Case("rank 8", inner=(2, 1, 2, 1, 2, 1)),
    Case("one value in each process", inner=(), rows=(1,), options=(("eps", 1.0),)),
    Case("uneven", rows=(4, 1, 2)),
    Case("first empty", rows=(0, 3)),
    Case("second empty", rows=(3, 0)),
    Case("empty in bfloat16", rows=(3, 0), dtype=BF16),
    Case("all empty", rows=(0,)),
    Case("second empty under a checkpoint", rows=(3, 0), reentrant=False),
    Case("first empty under a reentrant checkpoint", rows=(0, 3), reentrant=True),
    Case("affine off", options=(("affine", False),)),
    Case("bias off", options=(("bias", False),)),
    Case("momentum None", options=(("momentum", None),), batches=3),
    Case("momentum and eps", options=(("momentum", 0.4), ("eps", 0.1))),
    Case("track_running_stats off", options=(("track_running_stats", False),)),
    Case("float16", dtype=F16),
    Case("bfloat16", dtype=BF16),
    Case("bfloat16 parameters", dtype=BF16, parameters=BF16, rows=(3, 2)),
    Case("float64", dtype=F64, parameters=F64, rows=(2, 3)),
    Case("channels last", memory_format=torch.channels_last),
    Case("channels last 3d", inner=(2, 3, 4), memory_format=torch.channels_last_3d),
    Case("channels last in bfloat16", dtype=BF16, memory_format=torch.channels_last),
    Case("far from zero", offset=100.0, tolerance=1e-4, rows=(2, 5)),
)

# What torch.nn.SyncBatchNorm, which torch_npu leaves as it is, takes over hccl. It does not reduce float64, and with an empty batch in half
# types torch's gathers those types where the other processes gather float32. It has no statistics where all batches are empty.
TORCHS_CASES = tuple(case for case in CASES if case.name not in ("float64", "empty in bfloat16", "all empty"))


def part_of(case: Case, index: int, rank: int, size: int, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    sizes = case.sizes(size)
    start = sum(sizes[:rank])
    parts = [whole[start : start + sizes[rank]].to(device, copy=True) for whole in case.batch(index, size)]
    if case.memory_format != torch.contiguous_format:  # strides are set, because torch_npu's contiguous() takes no memory format
        parts = [part.movedim(1, -1).contiguous().movedim(-1, 1) for part in parts]
    return parts[0], parts[1]


def of_one_process(case: Case, size: int) -> dict[str, torch.Tensor]:
    """Return what torch's batch norm computes of the joint batch in float64."""
    kind = {2: torch.nn.BatchNorm1d, 3: torch.nn.BatchNorm1d, 5: torch.nn.BatchNorm3d}.get(2 + len(case.inner), torch.nn.BatchNorm2d)
    layer = case.layer(kind, case.parameters).double()
    layer._check_input_dim = lambda input: None  # accepts inputs of any rank
    return case.results(layer, [tuple(v.double() for v in case.batch(index, size)) for index in range(case.batches)])


def run_case(case: Case, kind: type[torch.nn.Module], device: str) -> dict[str, Any]:
    rank, size = dist.get_rank(), dist.get_world_size()
    layer = case.layer(kind, case.parameters).to(device)
    parts = [part_of(case, index, rank, size, device) for index in range(case.batches)]
    with counting() as calls:
        results = case.results(layer, parts)
    return {"results": results, "calls": calls}


@contextlib.contextmanager
def counting() -> Iterator[list[str]]:
    """List the collectives that this process starts."""
    calls: list[str] = []
    names = (ALL_GATHER, "all_reduce", "all_gather", "broadcast")
    originals = {name: getattr(dist, name) for name in names}

    def counted(name: str) -> Callable[..., Any]:
        return lambda *args, **kwargs: (calls.append(name), originals[name](*args, **kwargs))[1]

    for name in names:
        setattr(dist, name, counted(name))
    try:
        yield calls
    finally:
        for name, original in originals.items():
            setattr(dist, name, original)


def run_each(parts: Mapping[str, Callable[[str], Any]], device: str) -> dict[str, Any]:
    """Call each. The first that fails is the last, because the others' collectives would meet those of another part."""
    results = {}
    for name, part in parts.items():
        try:
            results[name] = part(device)
        except Exception as error:
            raise RuntimeError(f"{name} failed") from error
    return results


def run_cases(device: str) -> dict[str, Any]:
    parts = {case.name: functools.partial(run_case, case, torch_aclnn.nn.SyncBatchNorm) for case in CASES}
    if device == "npu":
        parts |= {f"torch's {case.name}": functools.partial(run_case, case, torch.nn.SyncBatchNorm) for case in TORCHS_CASES}
    return run_each(parts, device)
