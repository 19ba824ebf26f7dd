"""One ``torch.autograd.Function`` per operator, and one for its derivative.

``X.apply`` is the forward of torch whose gradient comes from the aclnn entry point; ``XBackward.apply`` is that gradient as a function
that can be differentiated again. The functions in :mod:`torch_aclnn.functional` check their arguments and call these.
"""

from typing import TYPE_CHECKING, Any

import torch
from torch_aclnn import _C
from torch_aclnn._operators import OPERATORS
from torch_aclnn.autograd import _fake  # noqa: F401  (registers)
from torch_aclnn.autograd._batch_norm import BatchNorm, BatchNormElemtBackward
from torch_aclnn.autograd._function import of_name
from torch_aclnn.autograd._linear import make_adaptive_average_pooling, make_average_pooling, make_padding
from torch_aclnn.autograd._max_unpooling import make_max_unpooling

__all__ = ["BatchNorm", "BatchNormElemtBackward"]

_MAKERS = {
    "average_pooling": make_average_pooling,
    "adaptive_average_pooling": make_adaptive_average_pooling,
    "padding": make_padding,
    "max_unpooling": make_max_unpooling,
}

for _operator in OPERATORS:
    if _operator.family in _MAKERS:
        _MAKERS[_operator.family](_operator)
        for _name in (_operator.forward_class, f"{_operator.forward_class}Backward"):
            globals()[_name] = of_name(_name)
            __all__.append(_name)


torch.autograd.graph.Node.register(_C.Node)  # of what functions in C++ record, torch's class knows its own alone


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
