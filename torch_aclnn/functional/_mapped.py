"""Tensors that :func:`torch.vmap` maps."""

import torch
from torch import Tensor


def refuse_unmapped_statistics(function: str, input: Tensor, *statistics: tuple[str, Tensor | None]) -> None:
    """Refuse running statistics which all elements of a mapped input would update, as torch does."""
    if torch.compiler.is_compiling() or not torch._C._are_functorch_transforms_active():
        return
    for parameter, value in statistics:
        if value is not None and not _levels(input) <= _levels(value):
            raise RuntimeError(
                f"{function}: {parameter}: expected a tensor that torch.vmap maps as it maps input, because it is updated in place, got "
                "one for all elements; a module that does not need evaluation takes `track_running_stats=False`"
            )


def _levels(tensor: Tensor) -> set[int]:
    """Return the levels of :func:`torch.vmap` at which a tensor is mapped."""
    functorch = torch._C._functorch
    levels: set[int] = set()
    while functorch.is_functorch_wrapped_tensor(tensor):
        if functorch.is_batchedtensor(tensor):
            levels.add(functorch.maybe_get_level(tensor))
        tensor = functorch.get_unwrapped(tensor)
    return levels
