"""Padding by elements of the input: those of the edges, their mirror images, those of the other end."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch_aclnn import _C
from torch import Tensor
from torch_aclnn._operators import BY_NAME, OPERATORS
from torch_aclnn.functional import _arguments
from torch_aclnn.functional._documentation import documented

__all__ = [
    "circular_pad1d",
    "circular_pad2d",
    "circular_pad3d",
    "reflection_pad1d",
    "reflection_pad2d",
    "reflection_pad3d",
    "replication_pad1d",
    "replication_pad2d",
    "replication_pad3d",
]


@documented
def replication_pad1d(input: Tensor, padding: int | Sequence[int]) -> Tensor:
    """Repeat the edges, as ``torch.nn.functional.pad(..., mode="replicate")``; the gradient is ``aclnnReplicationPad1dBackward``.

    Example:
        >>> torch_aclnn.functional.replication_pad1d(torch.tensor([[1.0, 2.0]]), (1, 1))
        tensor([[1., 1., 2., 2.]])

    """
    return _pad("replication_pad1d", _C.replication_pad1d, input, padding)


@documented
def replication_pad2d(input: Tensor, padding: int | Sequence[int]) -> Tensor:
    """Repeat the edges, as ``torch.nn.functional.pad(..., mode="replicate")``; the gradient is ``aclnnReplicationPad2dBackward``.

    Example:
        >>> torch_aclnn.functional.replication_pad2d(torch.tensor([[[1.0, 2.0]]]), (1, 1, 0, 0))
        tensor([[[1., 1., 2., 2.]]])

    """
    return _pad("replication_pad2d", _C.replication_pad2d, input, padding)


@documented
def replication_pad3d(input: Tensor, padding: int | Sequence[int]) -> Tensor:
    """Repeat the edges, as ``torch.nn.functional.pad(..., mode="replicate")``; the gradient is ``aclnnReplicationPad3dBackward``.

    Example:
        >>> torch_aclnn.functional.replication_pad3d(torch.tensor([[[[1.0, 2.0]]]]), (1, 1, 0, 0, 0, 0))
        tensor([[[[1., 1., 2., 2.]]]])

    """
    return _pad("replication_pad3d", _C.replication_pad3d, input, padding)


@documented
def reflection_pad1d(input: Tensor, padding: int | Sequence[int]) -> Tensor:
    """Reflect at the edges, as ``torch.nn.functional.pad(..., mode="reflect")``; the gradient is ``aclnnReflectionPad1dBackward``.

    Example:
        >>> torch_aclnn.functional.reflection_pad1d(torch.tensor([[1.0, 2.0, 3.0]]), (2, 1))
        tensor([[3., 2., 1., 2., 3., 2.]])

    """
    return _pad("reflection_pad1d", _C.reflection_pad1d, input, padding)


@documented
def reflection_pad2d(input: Tensor, padding: int | Sequence[int]) -> Tensor:
    """Reflect at the edges, as ``torch.nn.functional.pad(..., mode="reflect")``; the gradient is ``aclnnReflectionPad2dBackward``.

    Example:
        >>> torch_aclnn.functional.reflection_pad2d(torch.tensor([[[1.0, 2.0, 3.0]]]), (2, 1, 0, 0))
        tensor([[[3., 2., 1., 2., 3., 2.]]])

    """
    return _pad("reflection_pad2d", _C.reflection_pad2d, input, padding)


@documented
def reflection_pad3d(input: Tensor, padding: int | Sequence[int]) -> Tensor:
    """Reflect at the edges, as ``torch.nn.functional.pad(..., mode="reflect")``; the gradient is ``aclnnReflectionPad3dBackward``.

    Example:
        >>> torch_aclnn.functional.reflection_pad3d(torch.tensor([[[[1.0, 2.0, 3.0]]]]), (2, 1, 0, 0, 0, 0))
        tensor([[[[3., 2., 1., 2., 3., 2.]]]])

    """
    return _pad("reflection_pad3d", _C.reflection_pad3d, input, padding)


@documented
def circular_pad1d(input: Tensor, padding: int | Sequence[int]) -> Tensor:
    """Continue with the other end, as ``torch.nn.functional.pad(..., mode="circular")``.

    The gradient is ``aclnnCircularPad2dBackward``, of planes of one row.

    Example:
        >>> torch_aclnn.functional.circular_pad1d(torch.tensor([[1.0, 2.0, 3.0]]), (1, 1))
        tensor([[3., 1., 2., 3., 1.]])

    """
    _arguments.tensor("circular_pad1d", "input", input, (2, 3))
    sides = _arguments.edge_padding("circular_pad1d", "padding", padding, input, 1)
    return circular_pad2d(input.unsqueeze(-2), (*sides, 0, 0)).squeeze(-2)


@documented
def circular_pad2d(input: Tensor, padding: int | Sequence[int]) -> Tensor:
    """Continue with the other end, as ``torch.nn.functional.pad(..., mode="circular")``; the gradient is ``aclnnCircularPad2dBackward``.

    Example:
        >>> torch_aclnn.functional.circular_pad2d(torch.tensor([[[1.0, 2.0, 3.0]]]), (1, 1, 0, 0))
        tensor([[[3., 1., 2., 3., 1.]]])

    """
    return _pad("circular_pad2d", _C.circular_pad2d, input, padding)


@documented
def circular_pad3d(input: Tensor, padding: int | Sequence[int]) -> Tensor:
    """Continue with the other end, as ``torch.nn.functional.pad(..., mode="circular")``; the gradient is ``aclnnCircularPad3dBackward``.

    Example:
        >>> torch_aclnn.functional.circular_pad3d(torch.tensor([[[[1.0, 2.0, 3.0]]]]), (1, 1, 0, 0, 0, 0))
        tensor([[[[3., 1., 2., 3., 1.]]]])

    """
    return _pad("circular_pad3d", _C.circular_pad3d, input, padding)


# The largest padding that torch accepts, relative to the size; the operators' documents have further limits.
_LARGEST = {"reflect": -1, "circular": 0}


def _pad(name: str, in_eager_code: Callable[[Tensor, object], Any], input: Tensor, padding: object) -> Tensor:
    result = NotImplemented if torch.compiler.is_compiling() else in_eager_code(input, padding)
    if result is not NotImplemented:
        return result
    operator = BY_NAME[name]
    _arguments.tensor(name, "input", input, (operator.dims + 1, operator.dims + 2))
    sides = _arguments.edge_padding(name, "padding", padding, input, operator.dims)
    extended = [input.shape[-1 - side // 2] for side in range(len(sides))]
    beyond = _LARGEST.get(operator.mode or "")
    if beyond is not None and any(side > size + beyond for side, size in zip(sides, extended, strict=True)):
        limit = "below" if beyond else "of at most"
        _arguments.refuse(name, "padding", f"values {limit} the sizes that they extend, of input {tuple(input.shape)}", padding)
    within_limits = all(0 <= side < size for side, size in zip(sides, extended, strict=True))
    return _arguments.run(name, within_limits, (input,), sides)


_BY_MODE: dict[tuple[str | None, int], Callable[[Tensor, Any], Tensor]] = {
    (operator.mode, 2 * int(function[-2])): globals()[function]
    for operator in OPERATORS
    if operator.family == "padding"
    for function in operator.functions
}


def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """Do what :func:`torch.nn.functional.pad` does in the modes of this package; return NotImplemented for everything else."""
    if value is None and isinstance(pad, Sequence) and (mode, len(pad)) in _BY_MODE:
        return _BY_MODE[mode, len(pad)](input, pad)
    return NotImplemented
