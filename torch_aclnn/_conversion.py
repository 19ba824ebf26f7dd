"""Turn a model's modules of :mod:`torch.nn` into those of :mod:`torch_aclnn.nn` by :func:`convert`, and back by :func:`revert`."""

import functools
import logging
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

from torch_aclnn import nn as ours
from torch import nn
from torch_aclnn._operators import BY_NAME, OPERATORS

__all__ = ["convert", "revert"]

_Module = TypeVar("_Module", bound=nn.Module)

_OURS: dict[type[nn.Module], type[nn.Module]] = {
    getattr(nn, name): getattr(ours, name) for operator in OPERATORS for name in operator.modules
}
_TORCHS = {our_class: torchs_class for torchs_class, our_class in _OURS.items()}
_logger = logging.getLogger("torch_aclnn")
_BATCH_NORMS = frozenset(getattr(nn, name) for name in BY_NAME["batch_norm_elemt"].modules)


def require_choice(function: str, batch_norm: bool) -> None:
    """Raise TypeError unless it is a bool."""
    if not isinstance(batch_norm, bool):
        raise TypeError(f"{function}: batch_norm: expected True or False, got {batch_norm!r}")


def convert(module: _Module, batch_norm: bool = False) -> _Module:
    """Turn a model's modules of :mod:`torch.nn` into those of :mod:`torch_aclnn.nn`, where it has one of the name.

    They are turned in place: parameters, buffers, hooks and their handles, training mode, device and the names in ``state_dict`` stay, and
    an optimizer or another reference to a module stays valid. Subclasses, whose forward may differ, are left alone. A converted model
    can be compiled, exported, traced and fused (:func:`torch.ao.quantization.fuse_modules`), but not scripted (:func:`torch.jit.script`),
    and what looks for torch's own classes, such as ``torch.fx.experimental.optimization.fuse`` and ``prepare_fx`` of
    ``torch.ao.quantization``, leaves ours as they are. :func:`revert` turns it back.

    The logger ``torch_aclnn`` tells what was turned and what was left alone and why, at the level ``INFO``; or as a warning, if the model
    has nothing of ours then.

    Batch norm costs launches: a float32 BatchNorm2d in training takes 3 for forward and backward as torch_npu runs it (``aclnnBatchNorm``,
    ``aclnnBatchNormBackward`` and the count of batches), and 6 once converted, because the statistics and the sums of the backward, the
    element-wise gradient and the number of samples that it takes are launches of their own. So it is left alone by default.
    :class:`torch.nn.SyncBatchNorm`, which keeps its process group, counts as batch norm: torch's own calls the same entry points; and so
    does instance norm.

    Args:
        module: a model, or a single module.
        batch_norm: whether to turn batch norm too.

    Returns:
        The same module.

    Raises:
        TypeError: it is not a module, or batch_norm is not a bool.

    Example:
        >>> torch_aclnn.convert(torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.AvgPool2d(2)))[1].__class__.__module__
        'torch_aclnn.nn'

    """
    require_choice("convert", batch_norm)
    left_alone = () if batch_norm else _BATCH_NORMS
    before = _ours(module) if isinstance(module, nn.Module) else {}
    _turn("convert", module, _OURS, left_alone)
    if batch_norm:
        _register_fusers()
    _log(module, _ours(module), before.keys(), left_alone)
    return module


def revert(module: _Module) -> _Module:
    """Turn a model's modules of :mod:`torch_aclnn.nn` into those of :mod:`torch.nn`: the inverse of :func:`convert`.

    The model then needs this package no longer: it can be scripted, and what :func:`torch.save` writes of it loads without. As with
    :func:`convert`, modules are turned in place and keep all else, and subclasses are left alone. Modules that were made as those of
    :mod:`torch_aclnn.nn` are turned too; nothing tells them from converted ones.

    Args:
        module: a model, or a single module.

    Returns:
        The same module.

    Raises:
        TypeError: it is not a module.

    Example:
        >>> model = torch_aclnn.convert(torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.AvgPool2d(2)))
        >>> type(torch_aclnn.revert(model)[1]) is torch.nn.AvgPool2d
        True

    """
    return _turn("revert", module, _TORCHS)


def _register_fusers() -> None:
    """Let torch fuse our batch norm into the layer before it, as its own; the result is of torch's class."""
    from torch.ao.quantization.fuser_method_mappings import _DEFAULT_OP_LIST_TO_FUSER_METHOD as FUSERS

    for classes, fuser in list(FUSERS.items()):
        ours_of = tuple(_OURS.get(one, one) for one in classes)
        if ours_of != classes:
            FUSERS.setdefault(ours_of, functools.partial(_fuse_reverted, fuser))


def _fuse_reverted(fuser: Callable[..., nn.Module], is_qat: bool, *parts: nn.Module) -> nn.Module:
    return fuser(is_qat, *map(revert, parts))


def _turn(
    function: str, module: _Module, classes: Mapping[type[nn.Module], type[nn.Module]], left_alone: Collection[type[nn.Module]] = ()
) -> _Module:
    if not isinstance(module, nn.Module):
        got = f"the class {module.__name__}" if isinstance(module, type) else type(module).__name__
        raise TypeError(f"{function}: module: expected a torch.nn.Module, got {got}")
    for part in module.modules():
        # The two classes differ in forward alone, so that changing the class is all there is to do.
        if type(part) not in left_alone:
            part.__class__ = classes.get(type(part), part.__class__)
    return module


def _ours(module: nn.Module) -> dict[str, nn.Module]:
    return {name: part for name, part in module.named_modules() if type(part) in _TORCHS}


def _log(module: nn.Module, ours: Mapping[str, nn.Module], before: Collection[str], batch_norms: Collection[type[nn.Module]]) -> None:
    parts = list(module.modules())
    lists = {
        "turned": [part for name, part in ours.items() if name not in before],
        "left batch norm alone": [part for part in parts if type(part) in batch_norms],
        "left subclasses alone": [part for part in parts if isinstance(part, tuple(_OURS)) and type(part) not in _OURS | _TORCHS],
    }
    counts = {what: Counter(type(part).__name__ for part in found) for what, found in lists.items()}
    told = [f"{what} {', '.join(f'{n} {name}' for name, n in sorted(found.items()))}" for what, found in counts.items() if found]
    told = told if counts["turned"] else ["turned nothing", *told]
    _logger.log(logging.INFO if ours else logging.WARNING, "convert: %s", "; ".join(told))
