"""Models trained in parallel: each function is run by every process, and asserts that one process with the joint batch trains alike."""

import contextlib
import copy
import functools
from collections.abc import Callable, Iterable
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoints
from torch import Tensor, nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict, set_state_dict
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import CPUOffloadPolicy, fully_shard
from torch.distributed.pipelining import PipelineStage, ScheduleInterleavedZeroBubble
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from support.sync_batch_norm import run_each

FEATURES, CLASSES, ROWS = 6, 3, 24
WHOLE_STATE = StateDictOptions(full_state_dict=True, cpu_offload=True)


def network() -> nn.Sequential:
    """Return the same network in each process."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(FEATURES, 16), nn.Tanh(), nn.Linear(16, CLASSES)).npu()


def data(seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(ROWS, FEATURES, generator=generator), torch.randint(CLASSES, (ROWS,), generator=generator)


def own_part(values: Tensor, index: int | None = None, count: int | None = None) -> Tensor:
    rank, size = (dist.get_rank(), dist.get_world_size()) if index is None else (index, count)
    return values.chunk(size)[rank].npu()


def whole(value: Tensor) -> Tensor:
    return value.full_tensor() if isinstance(value, DTensor) else value


def assert_same(model: nn.Module, expected: nn.Module, tolerance: float = 1e-5) -> None:
    """Compare parameters and gradients."""
    for ours, theirs in zip(model.parameters(), expected.parameters(), strict=True):
        for part in (lambda p: p.detach(), lambda p: p.grad):
            torch.testing.assert_close(whole(part(ours)), part(theirs), rtol=tolerance, atol=tolerance)


def step(model: nn.Module, optimizer: torch.optim.Optimizer, batches: Iterable[tuple[Tensor, Tensor]]) -> None:
    """Take a step with the mean gradient of the batches; processes exchange gradients once, after the last."""
    optimizer.zero_grad()
    batches = list(batches)
    for left, (inputs, targets) in zip(reversed(range(len(batches))), batches, strict=True):
        with model.no_sync() if left and isinstance(model, DistributedDataParallel) else contextlib.nullcontext():
            (nn.functional.cross_entropy(model(inputs.npu()), targets.npu()) / len(batches)).backward()
    optimizer.step()


def train(model: nn.Module, part: Callable[[Tensor], Tensor], steps: int = 3) -> torch.optim.Optimizer:
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for seed in range(steps):
        step(model, optimizer, [tuple(map(part, data(seed)))])
    return optimizer


def sharded() -> nn.Module:
    model = network()
    for layer in (model[0], model[2], model):
        fully_shard(layer)
    return model


def tensor_parallel(mesh: DeviceMesh) -> nn.Module:
    return parallelize_module(network(), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})


def fully_sharded(device: str) -> None:
    single, model = network(), sharded()
    assert all(isinstance(parameter, DTensor) for parameter in model.parameters())
    train(single, Tensor.npu)
    train(model, own_part)
    assert_same(model, single)


def split_layers(device: str) -> None:
    single, model = network(), tensor_parallel(init_device_mesh(device, (dist.get_world_size(),)))
    inputs = data()[0].npu()
    torch.testing.assert_close(model(inputs), single(inputs), rtol=1e-5, atol=1e-5)
    for each in (single, model):
        train(each, Tensor.npu)
    assert_same(model, single)


def split_and_sharded(device: str) -> None:
    """Train on a mesh of two dimensions: tensor parallel within rows, fully sharded across them."""
    mesh = init_device_mesh(device, (2, dist.get_world_size() // 2), mesh_dim_names=("data", "tensor"))
    single, model = network(), tensor_parallel(mesh["tensor"])
    fully_shard(model, mesh=mesh["data"])
    train(single, Tensor.npu)
    train(model, functools.partial(own_part, index=mesh["data"].get_local_rank(), count=2))
    assert_same(model, single)


def sampled_and_accumulated(device: str) -> None:
    """Take three batches for each step from a sampler, through a loading process."""
    size, dataset = dist.get_world_size(), TensorDataset(*data())
    single = network()
    model = DistributedDataParallel(network())
    optimizers = [torch.optim.SGD(each.parameters(), lr=0.1, momentum=0.9) for each in (single, model)]
    sampler = DistributedSampler(dataset, seed=3)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        joint = DistributedSampler(dataset, num_replicas=1, rank=0, seed=3)
        joint.set_epoch(epoch)
        batches = list(DataLoader(dataset, ROWS // size // 3, sampler=sampler, num_workers=1))
        assert len(batches) == 3
        step(single, optimizers[0], DataLoader(dataset, ROWS, sampler=joint))
        step(model, optimizers[1], batches)
    assert_same(model, single)


def mixed_precision(device: str) -> None:
    single, model = network(), DistributedDataParallel(network())
    for each, part in ((single, Tensor.npu), (model, own_part)):
        with torch.autocast(device, torch.bfloat16):
            assert each(part(data()[0])).dtype == torch.bfloat16
            train(each, part, steps=1)
    assert_same(model, single, tolerance=5e-3)


def with_unused_parameters(device: str) -> None:
    """Leave out a layer in each step: the second one in a process that has more of them."""

    class Branches(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([network(), network(), network()])

        def forward(self, inputs: Tensor, branch: int) -> Tensor:
            return self.layers[0](inputs) + self.layers[branch](inputs)

    model, rank = DistributedDataParallel(Branches().npu(), find_unused_parameters=True), dist.get_rank()
    inputs, targets = map(own_part, data())
    nn.functional.cross_entropy(model(inputs, 1 + rank % 2), targets).backward()
    single, (inputs, targets) = Branches().npu(), data()
    for part in range(dist.get_world_size()):
        x, y = (own_part(values, part, dist.get_world_size()) for values in (inputs, targets))
        (nn.functional.cross_entropy(single(x, 1 + part % 2), y) / dist.get_world_size()).backward()
    assert_same(model, single)


def clipped_and_offloaded(device: str) -> None:
    """Keep the parameters on the host, with the norm of all ranks' gradients."""
    limit, single, model = 0.05, network(), network()
    for layer in (model[0], model[2], model):
        fully_shard(layer, offload_policy=CPUOffloadPolicy())
    assert {parameter.device.type for parameter in model.parameters()} == {"cpu"}
    norms = []
    for each, part in ((single, Tensor.npu), (model, own_part)):
        inputs, targets = map(part, data())
        nn.functional.cross_entropy(each(inputs), targets).backward()
        norms.append(whole(nn.utils.clip_grad_norm_(each.parameters(), limit)).cpu())
    assert norms[0] > limit
    torch.testing.assert_close(norms[1], norms[0], rtol=1e-5, atol=0)
    for ours, theirs in zip(model.parameters(), single.parameters(), strict=True):
        torch.testing.assert_close(whole(ours.grad), theirs.grad.cpu(), rtol=1e-5, atol=1e-7)


def pipelined_with_split_backward(device: str) -> None:
    """Run two stages in each process, whose gradients of weights come after those of inputs."""
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    single = nn.Sequential(*(nn.Linear(FEATURES, FEATURES) for _ in range(2 * size))).npu()
    models = [copy.deepcopy(single[rank + size * local]) for local in range(2)]
    place = torch.device("npu", torch.npu.current_device())
    stages = [PipelineStage(model, rank + size * local, 2 * size, place) for local, model in enumerate(models)]
    schedule = ScheduleInterleavedZeroBubble(stages, n_microbatches=2 * size, loss_fn=nn.functional.mse_loss)
    inputs = data()[0].npu()
    schedule.step(*([inputs] if rank == 0 else []), **({"target": inputs} if rank == size - 1 else {}))
    nn.functional.mse_loss(single(inputs), inputs).backward()
    for local, model in enumerate(models):
        assert_same(model, single[rank + size * local])


def compiled(device: str) -> None:
    single, model = network(), DistributedDataParallel(network())
    train(single, Tensor.npu)
    train(torch.compile(model, backend="eager"), own_part)
    assert_same(model, single)


def save(device: str, directory: str) -> None:
    """Save a checkpoint of a sharded model and its optimizer, and beside it the same as one file."""
    model = sharded()
    optimizer = train(model, own_part)
    parts = get_state_dict(model, optimizer)
    checkpoints.save(dict(zip(("model", "optimizer"), parts, strict=True)), checkpoint_id=Path(directory, "checkpoint"))
    complete = get_state_dict(model, optimizer, options=WHOLE_STATE)
    if dist.get_rank() == 0:
        torch.save(complete, Path(directory, "complete"))


def load(device: str, directory: str) -> None:
    """Load the checkpoint with any number of processes, compare it with the file, and train on."""
    model = sharded()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1.0)
    state = dict(zip(("model", "optimizer"), get_state_dict(model, optimizer), strict=True))
    checkpoints.load(state, checkpoint_id=Path(directory, "checkpoint"))
    set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
    loaded, saved = get_state_dict(model, optimizer, options=WHOLE_STATE), torch.load(Path(directory, "complete"))
    if dist.get_rank() == 0:  # rank 0 has the whole state
        assert loaded[1].pop("param_groups") == saved[1].pop("param_groups")
        torch.testing.assert_close(loaded, saved, rtol=0, atol=0)

    single = network()
    theirs = train(single, Tensor.npu)
    step(model, optimizer, [tuple(map(own_part, data(9)))])
    step(single, theirs, [tuple(map(Tensor.npu, data(9)))])
    assert_same(model, single)


def run_two(directory: str) -> None:
    practices = (
        fully_sharded,
        clipped_and_offloaded,
        split_layers,
        pipelined_with_split_backward,
        sampled_and_accumulated,
        with_unused_parameters,
        mixed_precision,
        compiled,
    )
    run_each({f.__name__: f for f in practices} | {"save": functools.partial(save, directory=directory)}, "npu")


def run_four(directory: str) -> None:
    practices = (fully_sharded, split_layers, split_and_sharded)
    run_each({"load": functools.partial(load, directory=directory)} | {f.__name__: f for f in practices}, "npu")
