"""The base class of the modules, which types their calls where torch declares Any, and the function by which they call others."""

from typing import TYPE_CHECKING, ParamSpec, Protocol

from torch_aclnn import functional
from torch import Tensor

_P = ParamSpec("_P")


class _HasForward(Protocol[_P]):
    def forward(self, *args: _P.args, **kwargs: _P.kwargs) -> Tensor: ...


class TypedCall:
    """The base of each module, in front of torch's: a call takes what the module's ``forward`` takes, and returns a Tensor.

    It has a ``__dict__`` as torch's modules do, without which Python would not let an object change between the classes.
    """

    if TYPE_CHECKING:

        def __call__(self: _HasForward[_P], *args: _P.args, **kwargs: _P.kwargs) -> Tensor: ...


def call(function: str, *arguments: object) -> Tensor:
    """Call a function of :mod:`torch_aclnn.functional` by its name, under which :func:`torch.fx.symbolic_trace` records it."""
    result: Tensor = getattr(functional, function)(*arguments)
    return result
