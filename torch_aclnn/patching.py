"""Switch the operators on in code that was written for :mod:`torch.nn`: a whole process by :func:`patch`, one model by :func:`convert`."""

import functools
import importlib
import threading
import warnings
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, TypeVar

import torch
from torch_aclnn import host
from torch_aclnn import nn as ours
from torch import Tensor, nn
from torch_aclnn._operators import OPERATORS

__all__ = ["Patch", "convert", "patch", "unpatch"]

_torch = torch.nn.functional
_Module = TypeVar("_Module", bound=nn.Module)


def _on_npu(original: Callable[..., Tensor], replacements: Sequence[Callable[..., Tensor]]) -> Callable[..., Tensor]:
    """Return a function that tries the replacements for plain tensors on ``npu``, and is `original` for everything else."""

    @functools.wraps(original)
    def switched(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if isinstance(input, Tensor) and input.device.type == "npu" and not torch.overrides.has_torch_function_unary(input):
            for replacement in replacements:
                output = replacement(input, *args, **kwargs)
                if output is not NotImplemented:
                    return output
        return original(input, *args, **kwargs)

    return switched


def _replacements() -> dict[str, list[Callable[..., Tensor]]]:
    """Return, for each name in torch.nn.functional, the functions of that name in the operators' files in torch_aclnn.functional.

    Where torch has one function for several operators, as it has `pad`, each returns NotImplemented for the arguments of the others.
    """
    found: dict[str, list[Callable[..., Tensor]]] = {}
    for function, name in sorted((o.torch_function, o.name) for o in OPERATORS if o.torch_function):
        module = importlib.import_module(f"torch_aclnn.functional.{name}")
        found.setdefault(function, []).append(getattr(module, function))
    return found


_REPLACEMENTS = _replacements()
_ORIGINALS: dict[str, Callable[..., Tensor]] = {name: getattr(_torch, name) for name in _REPLACEMENTS}
_SWITCHED = {name: _on_npu(_ORIGINALS[name], replacements) for name, replacements in _REPLACEMENTS.items()}

# Each patch() that has not ended. The functions are switched while there is one, so that scopes of several threads may overlap.
_holders: set["Patch"] = set()
_lock = threading.Lock()


class Patch:
    """What one call of :func:`patch` did. As a context manager it ends with its block.

    Attributes:
        changed: the functions that this call switched; empty if they were switched already.

    """

    def __init__(self, changed: tuple[str, ...]) -> None:
        self.changed = changed

    def __repr__(self) -> str:
        return f"Patch(changed={self.changed})"

    def __enter__(self) -> "Patch":
        """Return the patch, which is in force since :func:`patch` was called."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        """End this patch. The functions stay switched as long as another is in force."""
        with _lock:
            _holders.discard(self)
            if not _holders:
                _replace(_SWITCHED, _ORIGINALS)


def _replace(present: dict[str, Callable[..., Tensor]], wanted: dict[str, Callable[..., Tensor]]) -> tuple[str, ...]:
    """Put the wanted functions where the present ones are, and return the names of those put."""
    changed = []
    for name, function in wanted.items():
        found = getattr(_torch, name)
        if found is present[name]:
            setattr(_torch, name, function)
            changed.append(f"torch.nn.functional.{name}")
        elif found is not function:
            warnings.warn(f"torch.nn.functional.{name} was replaced by other code and is left alone", stacklevel=4)
    return tuple(changed)


def patch() -> Patch:
    """Let :mod:`torch.nn.functional` use this package's functions for tensors on ``npu``; modules that call them follow.

    Switched are the poolings and unpoolings that have an operator here, as :attr:`Patch.changed` lists them, and ``pad`` in the modes that
    have one. Tensors on any other device, subclasses of Tensor, and arguments that the operators do not take go to torch as before; what
    torch refuses raises a ValueError or TypeError of this package. The switch is the whole process's, for all threads, and does not reach
    code that holds the functions under names of its own (``from torch.nn.functional import avg_pool2d``).
    :func:`torch.jit.script` takes torch's own functions only, so it is not to be called while they are switched. No kernel of an aten
    operator is replaced.

    Calling it again changes nothing. It stays in force until :func:`unpatch`, or to the end of the block if it is used in ``with``.

    Returns:
        A :class:`Patch`, which lists what was changed.

    Example:
        >>> with torch_aclnn.patch() as patch:
        ...     y = torch.nn.AvgPool2d(2)(torch.ones(1, 1, 2, 2, device="npu", requires_grad=True))
        >>> y.grad_fn.name()
        'AvgPool2dBackward'
        >>> "torch.nn.functional.avg_pool2d" in patch.changed
        True

    """
    with _lock:
        started = Patch(_replace(_ORIGINALS, _SWITCHED))
        _holders.add(started)
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
        _holders.clear()
        return _replace(_SWITCHED, _ORIGINALS)


_COUNTERPARTS: dict[type[nn.Module], type[nn.Module]] = {
    getattr(nn, name): getattr(ours, name) for operator in OPERATORS for name in operator.modules
}
_BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


def convert(module: _Module, batch_norm: bool | None = None) -> _Module:
    """Turn a model's modules of :mod:`torch.nn` into those of :mod:`torch_aclnn.nn`, where it has one of the name.

    They are turned in place: parameters, buffers, hooks and their handles, training mode, device and the names in ``state_dict`` stay, and
    an optimizer or another reference to a module stays valid. Subclasses, whose forward may differ, are left alone. A converted model
    can be compiled, exported and traced, but not scripted (:func:`torch.jit.script`).

    Batch norm costs launches: a float32 BatchNorm2d in training takes 3 for forward and backward as torch_npu runs it (``aclnnBatchNorm``,
    ``aclnnBatchNormBackward`` and the count of batches), and 11 once converted, because statistics, normalisation, running statistics, sums
    and the element-wise gradient are entry points of their own. An NPU would spend more time on those than the gradient is worth there.

    Args:
        module: a model, or a single module.
        batch_norm: whether to turn batch norm too; None means only under the host engine.

    Returns:
        The same module.

    Raises:
        TypeError: it is not a module.

    Example:
        >>> torch_aclnn.convert(torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.AvgPool2d(2)))[1].__class__.__module__
        'torch_aclnn.nn'

    """
    if not isinstance(module, nn.Module):
        raise TypeError(f"convert: module: expected a torch.nn.Module, got {type(module).__name__}")
    if batch_norm is None:
        batch_norm = host.is_active()
    for part in module.modules():
        # The two classes differ in forward alone, so that changing the class is all there is to do.
        if batch_norm or type(part) not in _BATCH_NORMS:
            part.__class__ = _COUNTERPARTS.get(type(part), part.__class__)
    return module
