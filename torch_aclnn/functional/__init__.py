"""Pooling, padding, unpooling and batch norm with the signatures of :mod:`torch.nn.functional` and gradients from aclnn entry points.

Tensors on ``npu`` take the entry points, tensors on ``cpu`` the same kernels without CANN's interface. Torch's own path, forward and
gradient, is taken on any other device, for arguments that torch accepts but the operator's document does not (on ``npu``, torch_npu's
gradient may have the same limits and refuse them), and for whatever is computed in forward mode (:func:`torch.func.jvp`,
:mod:`torch.autograd.forward_ad`), rewritten by :func:`torch.func.functionalize` or recorded by :func:`torch.jit.trace`.
:func:`torch.fx.symbolic_trace` records a call of the function unchanged, and in place of a batch norm's a call of its module. Under
:class:`torch.autocast` each function keeps its input's dtype, whatever the device.
Arguments that torch refuses too raise ValueError or TypeError; what only the operator can refuse (a dtype outside its list) raises
RuntimeError. Integers may be those of numpy.
"""

import torch
from torch_aclnn.functional.batch_norm import batch_norm, sync_batch_norm
from torch_aclnn.functional.padding import (
    circular_pad1d,
    circular_pad2d,
    circular_pad3d,
    reflection_pad1d,
    reflection_pad2d,
    reflection_pad3d,
    replication_pad1d,
    replication_pad2d,
    replication_pad3d,
)
from torch_aclnn.functional.pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
)
from torch_aclnn.functional.unpooling import max_unpool1d, max_unpool2d, max_unpool3d

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "circular_pad1d",
    "circular_pad2d",
    "circular_pad3d",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "reflection_pad1d",
    "reflection_pad2d",
    "reflection_pad3d",
    "replication_pad1d",
    "replication_pad2d",
    "replication_pad3d",
    "sync_batch_norm",
]

for _name in __all__:
    torch.fx.wrap(_name)
    globals()[_name].__module__ = __name__  # the public path is what pickles and the code of a graph name


def __dir__() -> list[str]:
    return sorted(__all__)
