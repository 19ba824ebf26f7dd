"""Functions of a program for entry points and operators that the host engine does not have."""

import inspect
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


def implement(
    name: str, signature: str, *, dtypes: "Iterable[torch.dtype] | None" = None, replace: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Have a Python function compute an entry point, or an operator that is called by name, of the host engine.

    The function is called when the stream comes to the call, with the arguments of the signature in their order: tensors are torch's, on
    the CPU, and share the memory of the call; numbers, texts and lists are Python's; what may be left out and is comes as None. It writes
    into those that are marked ``(a!)`` and returns nothing. What it raises is a refusal of the call, with the line. The engine checks
    handles, memory and data types before, and counts and traces the call as one of its own. A tensor that is to be kept has to be cloned.

    Register before the first call: torch_npu looks for an entry point once, and remembers that it was not there.

    Args:
        name: ``"aclnnX"``, for both phases of an entry point; any other is the name of an operator, as ``"Iou"``.
        signature: the parameters of the first phase without ``workspaceSize`` and ``executor``, as in ``torch.library``; in addition
            ``int8``, ``int16``, ``int32``, ``uint64`` and ``float32`` for C's numbers of these types. docs/missing_entry_point.md lists
            all. For an operator: its inputs, attributes by name, and outputs.
        dtypes: those that the first tensor may have; all that torch has, by default.
        replace: whether the function may take the place of an entry point or operator that is there.

    Returns:
        What takes the function and returns it as it is.

    Raises:
        RuntimeError: CANN answers on the ``npu`` device.
        TypeError: the function does not take the arguments of the signature.
        ValueError: the signature cannot be understood, or the name is taken.

    Example::

        @torch_aclnn.host.implement("aclnnTwice", "Tensor self, Tensor(a!) out")
        def twice(self, out):
            out.copy_(2 * self)

    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        from torch_aclnn.host import python_functions  # imports torch

        count = len([parameter for parameter in signature.partition("->")[0].split(",") if parameter.strip(" ()\n\t")])
        _require_arguments(name, signature, function, count)
        python_functions.add(name, signature, function, dtypes, replace)
        return function

    return register


def _require_arguments(name: str, signature: str, function: Callable[..., Any], count: int) -> None:
    if not callable(function):
        raise TypeError(f"{name}: expected a function, got {type(function).__name__}")
    try:
        taken = inspect.signature(function)
    except (TypeError, ValueError):  # of a function in C
        return
    try:
        taken.bind(*range(count))
    except TypeError as error:
        raise TypeError(f'{name}: expected a function of the {count} parameters of "{signature}", got one of {taken}: {error}') from None
