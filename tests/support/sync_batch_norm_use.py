"""How synchronised batch norm is used: each function is run by every process and asserts what holds there."""

import re
from collections.abc import Callable
from typing import Any

import torch_aclnn
import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn

from support.sync_batch_norm import ALL_GATHER, CHANNELS, counting, run_cases, run_each

F = torch_aclnn.functional
SIZES = (3, 0, 2, 1)
USES: dict[str, Callable[[str], None]] = {}


def use(function: Callable[[str], None]) -> Callable[[str], None]:
    USES[function.__name__] = function
    return function


def run_all(device: str) -> dict[str, Any]:
    """Be one process: go through all cases and uses, in the order in which the others do."""
    return run_cases(device) | run_each(USES, device)


def widest(device: str) -> torch.dtype:
    return torch.float64 if device == "cpu" else torch.float32


def joint(device: str, *inner: int, seed: int = 0, sizes: tuple[int, ...] = SIZES) -> tuple[Tensor, slice]:
    """Return the values of all processes, and where this process's part is."""
    rank, size = dist.get_rank(), dist.get_world_size()
    generator = torch.Generator().manual_seed(seed)
    ends = [sum(sizes[: r + 1]) for r in range(size)]
    values = torch.randn(ends[-1], CHANNELS, *inner, generator=generator, dtype=torch.float64)
    return values.to(device, widest(device)), slice(ends[rank] - sizes[rank], ends[rank])


def added_up(value: Tensor) -> Tensor:
    total = value.detach().clone()
    dist.all_reduce(total)
    return total


def train(x: Tensor, *parameters: Tensor, **options: Any) -> Tensor:
    return F.sync_batch_norm(x, None, None, *parameters, training=True, **options)


def close(actual: Tensor, expected: Tensor) -> None:
    tolerance = 1e-10 if actual.dtype == torch.float64 else 1e-4
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)


def without_the_name_of_torch_2_13(device: str) -> None:
    """Train one step where torch.distributed has the older name of a collective; not one of USES, because others need the newer one."""
    if hasattr(dist, "all_gather_single"):
        del dist.all_gather_single
    whole, part = joint(device, 4, sizes=(3, 2))
    alone, x = (values.clone().requires_grad_() for values in (whole, whole[part]))
    expected, output = nn.functional.batch_norm(alone, None, None, training=True), train(x)
    expected.sin().sum().backward()
    output.sin().sum().backward()
    close(output, expected[part])
    close(x.grad, alone.grad[part])


@use
def second_derivatives(device: str) -> None:
    x, part = joint(device, 4)
    by = joint(device, 4, seed=1)[0]

    def derivatives(run: Callable[..., Tensor], x: Tensor, by: Tensor) -> tuple[Tensor, ...]:
        inputs = [t.clone().requires_grad_() for t in (x, by.new_full((CHANNELS,), 1.5), by.new_ones(CHANNELS))]
        first = torch.autograd.grad(run(*inputs).sin().mul(by).sum(), inputs, create_graph=True)
        return torch.autograd.grad((first[0] * by.cos()).sum() + sum((g * 0.3).sum() for g in first[1:]), inputs)

    alone = derivatives(lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), x, by)
    ours = derivatives(train, x[part], by[part])
    close(ours[0], alone[0][part])
    for a, b in zip(ours[1:], alone[1:], strict=True):
        close(added_up(a), b)


def network(norm: nn.Module) -> nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(nn.Conv2d(CHANNELS, CHANNELS, 3), norm, nn.ReLU(), nn.Flatten(), nn.Linear(4 * CHANNELS, 2))


@use
def gradients_accumulate_under_no_sync(device: str) -> None:
    dtype, sizes = widest(device), (2, 2, 2, 2)
    batches = [joint(device, 4, 4, seed=seed, sizes=sizes) for seed in range(2)]
    alone = network(nn.BatchNorm2d(CHANNELS)).to(device, dtype)
    for whole, _ in batches:
        alone(whole).square().mean().backward()
    model = nn.Sequential(network(nn.BatchNorm2d(CHANNELS)))
    model = torch_aclnn.nn.SyncBatchNorm.convert_sync_batchnorm(model).to(device, dtype)
    ddp = nn.parallel.DistributedDataParallel(model)
    with ddp.no_sync():
        ddp(batches[0][0][batches[0][1]]).square().mean().backward()
    ddp(batches[1][0][batches[1][1]]).square().mean().backward()
    for ours, theirs in zip(model.parameters(), alone.parameters(), strict=True):
        close(ours.grad, theirs.grad)
    for ours, theirs in zip(model.buffers(), alone.buffers(), strict=True):
        close(ours, theirs)


@use
def communicates_only_where_it_has_to(device: str) -> None:
    whole, part = joint(device, 4, sizes=(3, 3, 3, 3))
    x, layer = whole[part], torch_aclnn.nn.SyncBatchNorm(CHANNELS).to(device, widest(device))
    frozen = torch_aclnn.nn.SyncBatchNorm(CHANNELS, track_running_stats=False).to(device, widest(device)).eval()
    with counting() as calls:
        layer(x).sum().backward()  # the input takes no gradient
        with torch.no_grad():
            layer(x)
    assert calls == [ALL_GATHER] * 2
    assert layer.num_batches_tracked == 2 and layer.weight.grad is not None
    with counting() as calls:
        evaluated, by_own_batch = layer.eval()(x), frozen(x)
    assert calls == []
    close(evaluated, nn.functional.batch_norm(x, layer.running_mean, layer.running_var, layer.weight, layer.bias))
    close(by_own_batch, nn.functional.batch_norm(x, None, None, training=True))


@use
def groups_are_apart(device: str) -> None:
    rank, size = dist.get_rank(), dist.get_world_size()
    members = [list(range(size // 2)), list(range(size // 2, size))]
    groups = [dist.new_group(ranks) for ranks in members]
    mine = rank // (size // 2)
    whole, part = joint(device, 4, sizes=(2, 2, 2, 2))
    layer = torch_aclnn.nn.SyncBatchNorm(CHANNELS, affine=False, process_group=groups[mine]).to(device, widest(device))
    with counting() as calls:
        output = layer(whole[part])
    assert len(calls) == (size // 2 > 1)
    start = mine * size  # the group's batch begins here; each process has two rows
    expected = nn.functional.batch_norm(whole[start : start + size], None, None, training=True)
    close(output, expected[part.start - start : part.stop - start])
    with pytest.raises(
        TypeError, match=r"process_group: expected a torch.distributed.ProcessGroup that this process belongs to, or None, got"
    ):
        F.sync_batch_norm(whole[part], None, None, training=True, process_group=groups[1 - mine])


@use
def bad_arguments_are_refused(device: str) -> None:
    x = torch.ones(2, CHANNELS, 4, device=device)
    elsewhere = x.to("npu" if device == "cpu" else "cpu")
    lone = torch.ones(1 if dist.get_rank() == 0 else 0, CHANNELS, device=device)
    rows: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: train(x, process_group="gloo"), TypeError, "sync_batch_norm: process_group: expected a .*ProcessGroup .*, got 'gloo'"),
        (
            lambda: train(elsewhere),
            ValueError,
            rf"sync_batch_norm: input: expected a device that process_group serves \(.*\), got {elsewhere.device}",
        ),
        (lambda: train(lone), ValueError, "sync_batch_norm: input: expected more than one value per channel in training, got shape"),
        (lambda: train(x[:, :0]), ValueError, "sync_batch_norm: input: expected at least one channel"),
        (lambda: train(x.view(2, CHANNELS, 4, *[1] * 6)), ValueError, "sync_batch_norm: input: expected .* at most 8 dimensions"),
        (lambda: train(x, eps=0.0), ValueError, "sync_batch_norm: eps: expected a positive number in training, got 0.0"),
        (lambda: train(x, torch.ones(2, device=device)), ValueError, r"sync_batch_norm: weight: expected shape \(3,\)"),
        (lambda: torch.func.jvp(train, (x,), (x,)), NotImplementedError, "sync_batch_norm: forward-mode differentiation"),
        (lambda: torch.jit.trace(train, (x,)), NotImplementedError, "sync_batch_norm: .*torch.jit.trace"),
    ]
    for call, error, message in rows:
        with pytest.raises(error) as caught:
            call()
        assert re.search(message, str(caught.value)), caught.value


@use
def functional_transforms(device: str) -> None:
    whole, part = joint(device, 4)
    maps = torch.stack([whole[part], whole[part] * 2 + 1, whole[part].sin()])
    gradient = torch.func.grad(lambda x: train(x).exp().sum())
    for function in (train, gradient):
        close(torch.vmap(function)(maps), torch.stack([function(x) for x in maps]))
    x = whole[part].clone().requires_grad_()
    train(x).exp().sum().backward()
    close(gradient(whole[part]), x.grad)


@use
def autocast_keeps_the_dtype(device: str) -> None:
    x = torch.randn(2, CHANNELS, 4, generator=torch.Generator().manual_seed(dist.get_rank())).to(device)
    expected = train(x)
    with torch.autocast(device, torch.bfloat16):
        assert torch.equal(train(x), expected)


class _Undefined(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> None:
        return None


@use
def a_process_without_a_gradient_takes_part(device: str) -> None:
    whole, part = joint(device, 4, sizes=(2, 3, 1, 2))
    alone = whole.clone().requires_grad_()
    nn.functional.batch_norm(alone, None, None, training=True)[2:].exp().sum().backward()
    x = whole[part].clone().requires_grad_()
    output = train(x)
    (_Undefined.apply(output) if dist.get_rank() == 0 else output).exp().sum().backward()
    close(x.grad, alone.grad[part])


@use
def compiled_models_run_it_eagerly(device: str) -> None:
    whole, part = joint(device, 4, 4, sizes=(2, 2, 2, 2))
    model = network(torch_aclnn.nn.SyncBatchNorm(CHANNELS)).to(device, widest(device))
    close(torch.compile(model, backend="eager")(whole[part]), model(whole[part]))
