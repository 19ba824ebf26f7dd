"""Let :mod:`torch.nn.functional` use this package's functions, in the whole process: :func:`patch` and :func:`unpatch`."""

import functools
import threading
import warnings
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

import torch
from torch_aclnn import functional
from torch import Tensor
from torch_aclnn._conversion import require_choice
from torch_aclnn._operators import OPERATORS
from torch_aclnn.functional._padding import pad

__all__ = ["patch", "unpatch"]

_torch = torch.nn.functional


def _on_npu(original: Callable[..., Tensor], replacement: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return a function that tries the replacement for plain tensors on ``npu``, and is `original` for everything else."""

    @functools.wraps(original)
    def switched(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if isinstance(input, Tensor) and input.device.type == "npu" and not torch.overrides.has_torch_function_unary(input):
            output = replacement(input, *args, **kwargs)
            if output is not NotImplemented:
                return output
        return original(input, *args, **kwargs)

    return switched


# Torch has one function for all paddings; ours of that name returns NotImplemented for what it does not take.
_BATCH_NORM = "batch_norm"
_REPLACEMENTS: dict[str, Callable[..., Tensor]] = {
    function: getattr(functional, function)
    for operator in OPERATORS
    for function in operator.functions
    if operator.family != "padding" and hasattr(_torch, function)
} | {"pad": pad}
_ORIGINALS: dict[str, Callable[..., Tensor]] = {name: getattr(_torch, name) for name in _REPLACEMENTS}
_SWITCHED = {name: _on_npu(_ORIGINALS[name], replacement) for name, replacement in _REPLACEMENTS.items()}

# Each patch() that has not ended. A function is switched while one of them asks for it, so that scopes of several threads may overlap.
_holders: set["Patch"] = set()
_lock = threading.Lock()


class Patch:
    """The effect of one call of :func:`patch`. As a context manager it ends with its block.

    Attributes:
        changed: the functions that this call switched; empty if they were switched already.

    """

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names
        self.changed: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Patch(changed={self.changed})"

    def __enter__(self) -> "Patch":
        """Return the patch, which is in force since :func:`patch` was called."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        """End this patch. A function stays switched as long as another patch in force asks for it."""
        with _lock:
            _holders.discard(self)
            _apply(self._names)


def _asked_for() -> set[str]:
    return {name for holder in _holders for name in holder._names}


def _apply(names: Iterable[str]) -> tuple[str, ...]:
    """Switch those of the functions that are asked for, and the others back; return those that changed."""
    asked_for, changed = _asked_for(), []
    for name in sorted(names):
        found, wanted = getattr(_torch, name), (_SWITCHED if name in asked_for else _ORIGINALS)[name]
        if found is wanted:
            continue
        if found in (_ORIGINALS[name], _SWITCHED[name]):
            setattr(_torch, name, wanted)
            changed.append(f"torch.nn.functional.{name}")
        else:
            warnings.warn(f"torch.nn.functional.{name} was replaced by other code and is left alone", stacklevel=3)
    return tuple(changed)


def patch(batch_norm: bool = False) -> Patch:
    """Let :mod:`torch.nn.functional` use this package's functions for tensors on ``npu``; modules that call them follow.

    Switched are the poolings and unpoolings that have an operator here, as :attr:`Patch.changed` lists them, ``pad`` in the modes that
    have one, and on request ``batch_norm``, which costs launches, as :func:`torch_aclnn.convert` explains.
    Batch norm by given statistics, as in evaluation, stays torch's own.

    Tensors on any other device, subclasses of Tensor, and arguments that the operators do not take go to torch as before; what
    torch refuses raises a ValueError or TypeError of this package. The switch is the whole process's, for all threads, and does not reach
    code that holds the functions under names of its own (``from torch.nn.functional import avg_pool2d``).
    :func:`torch.jit.script` takes torch's own functions only, so it is not to be called while they are switched. No kernel of an aten
    operator is replaced.

    Calling it again changes nothing but for batch norm, if the earlier call left that out. It stays in force until :func:`unpatch`, or to
    the end of the block if it is used in ``with``.

    Args:
        batch_norm: whether to switch batch norm too.

    Returns:
        A :class:`Patch`, which lists what was changed.

    Raises:
        TypeError: batch_norm is not a bool.

    Example:
        >>> with torch_aclnn.patch() as patch:
        ...     y = torch.nn.AvgPool2d(2)(torch.ones(1, 1, 2, 2, device="npu", requires_grad=True))
        >>> y.grad_fn.name()
        'AvgPool2dBackward'
        >>> "torch.nn.functional.avg_pool2d" in patch.changed
        True

    """
    require_choice("patch", batch_norm)
    left_alone = set() if batch_norm else {_BATCH_NORM}
    started = Patch(frozenset(_SWITCHED.keys() - left_alone))
    with _lock:
        _holders.add(started)
        started.changed = _apply(started._names)
    return started


def unpatch() -> tuple[str, ...]:
    """End every :func:`patch`, and return the functions that are torch's own again.

    Example:
        >>> patch = torch_aclnn.patch()
        >>> torch_aclnn.unpatch() == patch.changed
        True
        >>> torch_aclnn.unpatch()
        ()

    """
    with _lock:
        names = _asked_for()
        _holders.clear()
        return _apply(names)
