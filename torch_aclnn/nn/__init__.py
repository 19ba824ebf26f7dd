"""Drop-in modules: the names, arguments, state and repr of :mod:`torch.nn`, with gradients from aclnn entry points.

Example:
    >>> pool = torch_aclnn.nn.AvgPool2d(kernel_size=2)
    >>> pool
    AvgPool2d(kernel_size=2, stride=2, padding=0)
    >>> pool(torch.ones(1, 1, 4, 4)).shape
    torch.Size([1, 1, 2, 2])

"""

from torch_aclnn.nn.adaptive_avg_pool2d import AdaptiveAvgPool2d
from torch_aclnn.nn.adaptive_avg_pool3d import AdaptiveAvgPool3d
from torch_aclnn.nn.avg_pool2d import AvgPool2d
from torch_aclnn.nn.batch_norm_elemt import BatchNorm1d, BatchNorm2d, BatchNorm3d, SyncBatchNorm
from torch_aclnn.nn.max_unpool3d import MaxUnpool3d
from torch_aclnn.nn.reflection_pad2d import ReflectionPad2d
from torch_aclnn.nn.replication_pad2d import ReplicationPad2d

__all__ = [
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AvgPool2d",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "MaxUnpool3d",
    "ReflectionPad2d",
    "ReplicationPad2d",
    "SyncBatchNorm",
]

for _name in __all__:
    # The public path is what pickles and reprs name. inspect.getsource looks for the class there too, in vain; it finds the methods.
    globals()[_name].__module__ = __name__


def __dir__() -> list[str]:
    return sorted(__all__)
