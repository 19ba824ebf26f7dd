"""Checks of the arguments that the functions share. The messages name the function, the parameter, what was expected and what came."""

from collections.abc import Sequence
from typing import NoReturn

import torch
from torch import Tensor
from torch.autograd import forward_ad

# CANN takes no other divisor; a wrong one would only be refused in the backward.
MAX_DIVISOR = 255


def refuse(function: str, parameter: str, expected: str, got: object) -> NoReturn:
    """Raise the ValueError that every function raises for a bad value."""
    raise ValueError(f"{function}: {parameter}: expected {expected}, got {got}")


def tensor(function: str, parameter: str, value: object, ranks: tuple[int, ...]) -> Tensor:
    """Return the value if it is a tensor of one of the ranks."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{function}: {parameter}: expected a Tensor, got {type(value).__name__}")
    if value.dim() not in ranks:
        refuse(function, parameter, f"{' or '.join(map(str, ranks))} dimensions", f"shape {tuple(value.shape)}")
    return value


def ints(function: str, parameter: str, value: object, count: int, lowest: int | None = None) -> tuple[int, ...]:
    """Return the value as `count` integers of at least `lowest`; one integer stands for all."""
    values = tuple(value) if isinstance(value, Sequence) else (value,)
    if len(values) == 1:
        values *= count
    if len(values) != count:
        refuse(function, parameter, f"one integer or {count}", value)
    for v in values:
        if type(v) is not int and (not isinstance(v, (int, torch.SymInt)) or isinstance(v, bool)):
            raise TypeError(f"{function}: {parameter}: expected integers, got {value!r}")
        if lowest is not None and v < lowest:
            refuse(function, parameter, f"values of at least {lowest}", value)
    return values


def takes_our_path(*tensors: Tensor | None) -> bool:
    """Return whether the operators can do it: they have kernels for ``npu`` and ``cpu``, and no forward-mode derivative.

    What :func:`torch.jit.trace` records is torch's too: it gets saved, or exported to ONNX, and runs where this package may not be.
    """
    ours = all(t is None or t.device.type in ("npu", "cpu") for t in tensors)
    return ours and forward_ad._current_level < 0 and not torch.jit.is_tracing()  # type: ignore[attr-defined]
