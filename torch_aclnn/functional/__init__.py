"""Pooling, padding, unpooling and batch norm with the signatures of :mod:`torch.nn.functional` and gradients from aclnn entry points.

Tensors on ``npu`` take the entry points, tensors on ``cpu`` the same kernels without CANN's interface. Torch's own path, forward and
gradient, is taken on any other device, for arguments that torch accepts but the operator's document does not (on ``npu``, torch_npu's
gradient may have the same limits and refuse them), and for whatever is computed in forward mode (:func:`torch.func.jvp`,
:mod:`torch.autograd.forward_ad`), rewritten by :func:`torch.func.functionalize` or recorded by :func:`torch.jit.trace`.
:func:`torch.fx.symbolic_trace` records a call of the function unchanged, and in place of a batch norm's a call of its module (fx's
own fusions look for torch's class: :func:`torch_aclnn.revert` the model before). Under :class:`torch.autocast` each function keeps its
input's dtype, whatever the device.
Arguments that torch refuses too raise ValueError or TypeError; what only the operator can refuse (a dtype outside its list) raises
RuntimeError. Integers may be those of numpy.
"""

from typing import TYPE_CHECKING

import torch
from torch_aclnn._operators import OPERATORS
from torch_aclnn.functional._batch_norm import *
from torch_aclnn.functional._padding import *
from torch_aclnn.functional._pooling import *
from torch_aclnn.functional._unpooling import *

# Type checkers cannot read a computed __all__ and take what the star imports bring.
_public = sorted(name for operator in OPERATORS for name in operator.functions)
globals()["__all__"] = _public

for _name in _public:
    torch.fx.wrap(_name)
    globals()[_name].__module__ = __name__  # pickles and the code of a graph then name the public path


def __dir__() -> list[str]:
    return _public


if not TYPE_CHECKING:  # with a __getattr__ a type checker would accept any name

    def __getattr__(name: str) -> object:
        hint = "; each mode of pad is a function, such as replication_pad2d(input, padding)" if name == "pad" else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
