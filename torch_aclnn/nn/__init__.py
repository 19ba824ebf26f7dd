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

# Type checkers take what the stars import, as they cannot read a list that is computed.
_public = sorted(name for operator in OPERATORS for name in operator.modules)
globals()["__all__"] = _public

for _operator in OPERATORS:
    for _number, _name in enumerate(_operator.modules):
        # The public path is what pickles and reprs name. inspect.getsource looks for the class there too, in vain; it finds the methods.
        globals()[_name].__module__ = __name__
        if _operator.dims:
            globals()[_name]._function = _operator.functions[_number]


def __dir__() -> list[str]:
    return _public
