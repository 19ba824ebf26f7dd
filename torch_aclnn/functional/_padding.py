"""Padding by elements of the input: those of the edges, their mirror images, those of the other end."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

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


class _Padding(Protocol):
    def __call__(self, input: Tensor, padding: int | Sequence[int]) -> Tensor: ...


# What a function of planes does, with the mode of torch's own, a row, how many elements are added on either side, and the padded row.
_KINDS = {
    "replication": ("Repeat the edges", "replicate", [1.0, 2.0], (1, 1), "1., 1., 2., 2."),
    "reflection": ("Reflect at the edges", "reflect", [1.0, 2.0, 3.0], (2, 1), "3., 2., 1., 2., 3., 2."),
    "circular": ("Continue with the other end", "circular", [1.0, 2.0, 3.0], (1, 1), "3., 1., 2., 3., 1."),
}


def _of_planes(name: str) -> _Padding:
    """Return the function of a name, with an example of one row."""
    in_eager_code, operator = getattr(_C, name), BY_NAME[name]
    summary, mode, row, sides, padded = _KINDS[name.partition("_")[0]]
    before, after = "[" * operator.dims, "]" * operator.dims

    def function(input: Tensor, padding: int | Sequence[int]) -> Tensor:
        return _pad(name, in_eager_code, input, padding)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{summary}, as ``torch.nn.functional.pad(..., mode="{mode}")``; the gradient is ``{operator.entry_point}``.

    Example:
        >>> torch_aclnn.functional.{name}(torch.tensor({before}{row}{after}), {sides + (0, 0) * (operator.dims - 1)})
        tensor({before}[{padded}]{after})

    """
    return documented(function)


replication_pad1d = _of_planes("replication_pad1d")
replication_pad2d = _of_planes("replication_pad2d")
replication_pad3d = _of_planes("replication_pad3d")
reflection_pad1d = _of_planes("reflection_pad1d")
reflection_pad2d = _of_planes("reflection_pad2d")
reflection_pad3d = _of_planes("reflection_pad3d")
circular_pad2d = _of_planes("circular_pad2d")
circular_pad3d = _of_planes("circular_pad3d")


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
