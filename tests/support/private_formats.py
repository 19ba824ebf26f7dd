"""The private formats by their definition: where each element of a tensor lies in memory."""

import itertools
from collections.abc import Sequence

import torch

from support.dtypes import Format

FRACTAL_Z, FRACTAL_Z_3D = 4, 33
ROWS = 16
PLAIN = {
    Format.NC1HWC0: Format.NCHW, FRACTAL_Z: Format.NCHW, Format.NDC1HWC0: Format.NCDHW, FRACTAL_Z_3D: Format.NCDHW,
    Format.NDHWC: Format.NCDHW, Format.FRACTAL_NZ: Format.ND,
}  # fmt: skip
DIMENSIONS = {
    Format.NC1HWC0: (1, 4), FRACTAL_Z: (1, 4), Format.NDC1HWC0: (5, 5), FRACTAL_Z_3D: (5, 5), Format.NDHWC: (5, 5),
    Format.FRACTAL_NZ: (1, 4),
}  # fmt: skip


def filled_up(kind: int, sizes: Sequence[int]) -> list[int]:
    """Return the shape with the dimensions that the format asks for."""
    dims = list(sizes)
    if kind in (Format.NC1HWC0, FRACTAL_Z) and len(dims) < 4:
        return [1, *dims, *[1] * (3 - len(dims))]
    return dims + [1] * (2 - len(dims)) if kind == Format.FRACTAL_NZ else dims


def blocks(size: int, block: int) -> int:
    return -(-size // block)


def storage_sizes(kind: int, sizes: Sequence[int], columns: int) -> list[int]:
    dims = filled_up(kind, sizes)
    if kind == Format.FRACTAL_NZ:
        *batch, m, n = dims
        return [*batch, blocks(n, columns), blocks(m, ROWS), ROWS, columns]
    n, c, *space = dims
    if kind == Format.NC1HWC0:
        return [n, blocks(c, columns), *space, columns]
    if kind == Format.NDC1HWC0:
        return [n, space[0], blocks(c, columns), *space[1:], columns]
    if kind == Format.NDHWC:
        return [n, *space, c]
    return [blocks(c, columns) * torch.Size(space).numel(), blocks(n, ROWS), ROWS, columns]


def place(kind: int, index: Sequence[int], dims: Sequence[int], columns: int) -> tuple[int, ...]:
    """Return the indices in memory of one element of a tensor with all dimensions."""
    if kind == Format.FRACTAL_NZ:
        *batch, m, n = index
        return (*batch, n // columns, m // ROWS, m % ROWS, n % columns)
    n, c, *space = index
    if kind == Format.NC1HWC0:
        return (n, c // columns, *space, c % columns)
    if kind == Format.NDC1HWC0:
        return (n, space[0], c // columns, *space[1:], c % columns)
    if kind == Format.NDHWC:
        return (n, *space, c)
    if kind == FRACTAL_Z:
        h, w = space
        row = ((c // columns) * dims[2] + h) * dims[3] + w
    else:
        d, h, w = space
        row = ((d * blocks(dims[1], columns) + c // columns) * dims[3] + h) * dims[4] + w
    return (row, n // ROWS, n % ROWS, c % columns)


def in_memory(kind: int, tensor: torch.Tensor, columns: int) -> torch.Tensor:
    """Return the tensor's memory, with zeros where it has no element."""
    storage = torch.zeros(storage_sizes(kind, tensor.shape, columns), dtype=tensor.dtype)
    dims = filled_up(kind, tensor.shape)
    flat = tensor.reshape(-1)
    for i, index in enumerate(itertools.product(*map(range, dims))):
        storage[place(kind, index, dims, columns)] = flat[i]
    return storage
