"""Operators on planes for :class:`torch.distributed.tensor.DTensor`: each process computes the planes that it has."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor, Replicate, Shard


def is_sharded(tensor: object) -> bool:
    """Return whether it is a DTensor."""
    return isinstance(tensor, DTensor)


def on_shards(function: Callable[..., Tensor], dims: int, tensors: tuple[Tensor, ...], *arguments: Any) -> Tensor:
    """Call a function of planes with the parts of DTensors, which may be sharded over samples and channels.

    A tensor that is sharded within planes, or a partial sum, is redistributed first: each process gets whole planes.

    Args:
        function: takes the tensors and the arguments; its result has the planes of the first tensor.
        dims: the dimensions of a plane.
        tensors: DTensors of one shape and mesh; others count as replicated.
        arguments: what else the function takes.

    """
    first = next(t for t in tensors if isinstance(t, DTensor))
    outer = first.dim() - dims
    placements = [p if isinstance(p, Shard) and p.dim % first.dim() < outer else Replicate() for p in first.placements]
    local = [_local(t, first, placements) for t in tensors]
    result = function(*local, *arguments)
    shape = torch.Size((*first.shape[:outer], *result.shape[outer:]))
    stride = torch.empty(shape, device="meta").stride()
    return DTensor.from_local(result, first.device_mesh, placements, run_check=False, shape=shape, stride=stride)


def _local(tensor: Tensor, like: DTensor, placements: list[Any]) -> Tensor:
    mesh = like.device_mesh
    whole = tensor if isinstance(tensor, DTensor) else DTensor.from_local(tensor, mesh, [Replicate()] * mesh.ndim, run_check=False)
    return whole.redistribute(mesh, placements).to_local()
