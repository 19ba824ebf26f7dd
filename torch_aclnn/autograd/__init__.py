"""One ``torch.autograd.Function`` per operator, and one for its derivative.

``X.apply`` is the forward of torch whose gradient comes from the aclnn entry point; ``XBackward.apply`` is that gradient as a function
that can be differentiated again. The functions in :mod:`torch_aclnn.functional` check their arguments and call these.
"""

import importlib
from typing import TYPE_CHECKING, Any

from torch_aclnn._operators import OPERATORS
from torch_aclnn.autograd import _fake  # noqa: F401  (registers)

__all__ = []

for _operator in OPERATORS:
    _module = importlib.import_module(f"{__name__}.{_operator.name}")
    for _name in _module.__all__:
        globals()[_name] = getattr(_module, _name)
    __all__ += _module.__all__


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
