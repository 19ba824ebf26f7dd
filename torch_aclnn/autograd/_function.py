"""The base of the functions in this package."""

from typing import Any

import torch


class Function(torch.autograd.Function):
    """A ``torch.autograd.Function`` with a shorter way for eager code.

    ``apply`` inspects the signature of ``forward`` on every call, which takes longer than a small operator. ``call`` goes round it, and
    round the graph where none is wanted; under ``torch.func`` and ``torch.compile`` it is ``apply``.
    """

    _record: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Bind what ``apply`` ends in."""
        super().__init_subclass__(**kwargs)
        cls._record = super(torch.autograd.Function, cls).apply  # type: ignore[misc]

    @classmethod
    def call(cls, *args: Any) -> Any:
        """Do what ``apply`` does, for positional arguments."""
        if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
            return cls.apply(*args)
        return cls._record(*args) if torch.is_grad_enabled() else cls.forward(*args)
