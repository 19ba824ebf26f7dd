"""Drop-in modules: the names, arguments, state and repr of :mod:`torch.nn`, with gradients from aclnn entry points.

Example:
    >>> pool = torch_aclnn.nn.AvgPool2d(kernel_size=2)
    >>> pool
    AvgPool2d(kernel_size=2, stride=2, padding=0)
    >>> pool(torch.ones(1, 1, 4, 4)).shape
    torch.Size([1, 1, 2, 2])

"""

from torch_aclnn._operators import OPERATORS
from torch_aclnn.nn._batch_norm import *
from torch_aclnn.nn._padding import *
from torch_aclnn.nn._pooling import *

# Type checkers cannot read a computed __all__ and take what the star imports bring.
_public = sorted(name for operator in OPERATORS for name in operator.modules)
globals()["__all__"] = _public

for _operator in OPERATORS:
    for _number, _name in enumerate(_operator.modules):
        # Pickles and reprs then name the public path. inspect.getsource does not find a class there, but it finds the methods.
        globals()[_name].__module__ = __name__
        if _operator.dims:
            globals()[_name]._function = _operator.functions[_number]


def __dir__() -> list[str]:
    return _public
