"""Operators on planes of tensors that are sharded over processes, to be called in each of them."""

import math
from typing import Any

import torch
from torch_aclnn import functional
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor, init_device_mesh

# A function for each family, and one of volumes; N and C that two processes cannot share evenly.
SHAPE = (3, 5, 4, 6)


def _functions(indices: torch.Tensor) -> dict[str, Any]:
    return {
        "avg_pool2d": lambda x: functional.avg_pool2d(x, (2, 3), 1),
        "adaptive_avg_pool2d": lambda x: functional.adaptive_avg_pool2d(x, (3, 2)),
        "avg_pool1d": lambda x: functional.avg_pool1d(x.select(2, 0), 2),
        "reflection_pad2d": lambda x: functional.reflection_pad2d(x, (1, 2, 3, 0)),
        "replication_pad3d": lambda x: functional.replication_pad3d(x.unsqueeze(2), 1),
        "circular_pad2d": lambda x: functional.circular_pad2d(x, 1),
        "max_unpool2d": lambda x: functional.max_unpool2d(x, indices, 2),
    }


def differences(device: str) -> dict[str, tuple[bool, bool, str]]:
    """Return for each function and placement whether result and gradient are those of one process, and the placement of the result."""
    mesh = init_device_mesh(device, (torch.distributed.get_world_size(),))
    x = torch.randn(SHAPE, generator=torch.Generator().manual_seed(5)).to(device)
    indices = torch.arange(math.prod(SHAPE[-2:]), device=device).view(SHAPE[-2:]).expand(SHAPE).contiguous()
    found = {}
    for name in _functions(indices):
        for placement in (Shard(0), Shard(1), Shard(3), Replicate()):
            whole, sharded = x.clone().requires_grad_(), distribute_tensor(x, mesh, [placement]).detach().requires_grad_()
            expected = _functions(indices)[name](whole)
            result = _functions(distribute_tensor(indices, mesh, [placement]))[name](sharded)
            assert isinstance(result, DTensor)
            expected.square().sum().backward()
            result.square().sum().backward()
            same = torch.equal(result.full_tensor(), expected), torch.equal(sharded.grad.full_tensor(), whole.grad)
            found[f"{name} {placement}"] = (*same, str(result.placements[0]))
    return found
