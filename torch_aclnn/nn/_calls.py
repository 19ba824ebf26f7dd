"""The base classes of the modules: they declare the types of calls, for which torch declares Any, and call the functions."""

from typing import TYPE_CHECKING, ClassVar, NoReturn, ParamSpec, Protocol

from torch_aclnn import functional
from torch import Tensor

_P = ParamSpec("_P")


class _HasForward(Protocol[_P]):
    def forward(self, *args: _P.args, **kwargs: _P.kwargs) -> Tensor: ...


class TypedCall:
    """The base of each module, in front of torch's: a call takes what the module's ``forward`` takes, and returns a Tensor.

    It has a ``__dict__`` as torch's modules have; without one Python would refuse to change an object's class.
    """

    def __prepare_scriptable__(self) -> NoReturn:
        """Refuse :func:`torch.jit.script`, which can compile only calls of torch's own functions."""
        name = f"torch_aclnn.nn.{type(self).__name__}"
        raise NotImplementedError(f"torch.jit.script: {name} has no script; torch_aclnn.revert(model) gives the model torch's classes back")

    if TYPE_CHECKING:

        def __call__(self: _HasForward[_P], *args: _P.args, **kwargs: _P.kwargs) -> Tensor: ...


class OfPlanes(TypedCall):
    """The base of the modules that call a function of planes; which function is set by the table of operators."""

    _function: ClassVar[str]

    def _call(self, *arguments: object) -> Tensor:
        """Call the function by its name in :mod:`torch_aclnn.functional`, under which :func:`torch.fx.symbolic_trace` records it."""
        result: Tensor = getattr(functional, self._function)(*arguments)
        return result
