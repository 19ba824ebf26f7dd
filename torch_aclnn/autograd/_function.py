"""The base of the functions in this package."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad


class Function(torch.autograd.Function):
    """A ``torch.autograd.Function`` with less overhead in eager code.

    ``apply`` inspects the signature of ``forward`` on every call, which takes longer than a small operator. ``call`` skips that, and does
    not record a graph where none is wanted; under ``torch.func`` and ``torch.compile`` it is ``apply``.
    """

    _record: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Bind the function of torch that ``apply`` ends in."""
        super().__init_subclass__(**kwargs)
        cls._record = super(torch.autograd.Function, cls).apply  # type: ignore[misc]

    @classmethod
    def call(cls, *args: Any) -> Any:
        """Do what ``apply`` does, for positional arguments."""
        if forward_ad._current_level >= 0:
            cls._refuse_tangents(args)
        if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
            return cls.apply(*args)
        return cls._record(*args) if torch.is_grad_enabled() else cls.forward(*args)

    @classmethod
    def _refuse_tangents(cls, args: tuple[Any, ...]) -> None:
        # A jvp method could say this, but torch.compile takes no function that has one.
        if any(isinstance(a, Tensor) and forward_ad.unpack_dual(a).tangent is not None for a in args):
            raise NotImplementedError(
                f"{cls.__name__}: forward-mode differentiation is not implemented; use reverse mode (torch.func.vjp, grad, jacrev), or "
                "call torch_aclnn.functional inside the forward-mode level, where it is torch's own function"
            )


def cast(values: Tensor, dtype: torch.dtype) -> Tensor:
    """Return the values in a data type.

    A Function's forward ends in this instead of ``Tensor.to``, which returns the same tensor if the type is the same. Then torch.compile of
    torch 2.11 takes the tensor for two outputs, and passes the backward no gradient of the first.
    """
    return values if values.dtype == dtype else values.to(dtype)


_MADE: dict[str, type[Function]] = {}


def make_function(
    name: str, base: type[Function], doc: str, plane_dims: int, forward: Callable[..., Tensor], backward: Callable[..., Any]
) -> None:
    """Make an operator's class, derived from the base of its family."""
    members = {"plane_dims": plane_dims, "forward": staticmethod(forward), "backward": staticmethod(backward)}
    _MADE[name] = type(name, (base,), {**members, "__doc__": doc, "__module__": "torch_aclnn.autograd"})


def of_name(name: str) -> type[Function]:
    """Return the class that was made under a name; torch.compile cannot follow a class in a closure."""
    return _MADE[name]
