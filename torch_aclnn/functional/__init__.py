"""Pooling, padding, unpooling and batch norm with the signatures of :mod:`torch.nn.functional` and gradients from aclnn entry points.

Tensors on ``npu`` take the entry points, tensors on ``cpu`` the same kernels without CANN's interface. Torch's own path, forward and
gradient, is taken on any other device, for arguments that torch accepts but the operator's document does not (on ``npu``, torch_npu's
gradient may have the same limits and refuse them), and for whatever is computed in forward mode (:func:`torch.func.jvp`,
:mod:`torch.autograd.forward_ad`) or recorded by :func:`torch.jit.trace`. :func:`torch.fx.symbolic_trace` records a call of the function as
it stands. Under :class:`torch.autocast` each function keeps its input's dtype, whatever the device.
Arguments that torch refuses too raise ValueError or TypeError; what only the operator can refuse (a dtype outside its list) raises
RuntimeError. Integers may be those of numpy.
"""

import torch
from torch_aclnn.functional.adaptive_avg_pool2d import adaptive_avg_pool2d
from torch_aclnn.functional.adaptive_avg_pool3d import adaptive_avg_pool3d
from torch_aclnn.functional.avg_pool2d import avg_pool2d
from torch_aclnn.functional.batch_norm_elemt import batch_norm, sync_batch_norm
from torch_aclnn.functional.max_unpool3d import max_unpool3d
from torch_aclnn.functional.reflection_pad2d import reflection_pad2d
from torch_aclnn.functional.replication_pad2d import replication_pad2d

__all__ = [
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "avg_pool2d",
    "batch_norm",
    "max_unpool3d",
    "reflection_pad2d",
    "replication_pad2d",
    "sync_batch_norm",
]

for _name in __all__:
    torch.fx.wrap(_name)
    globals()[_name].__module__ = __name__  # the public path is what pickles and the code of a graph name


def __dir__() -> list[str]:
    return sorted(__all__)
