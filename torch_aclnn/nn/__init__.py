"""Drop-in modules: the names, arguments, state and repr of :mod:`torch.nn`, with gradients from aclnn entry points.

Example:
    >>> pool = torch_aclnn.nn.AvgPool2d(kernel_size=2)
    >>> pool
    AvgPool2d(kernel_size=2, stride=2, padding=0)
    >>> pool(torch.ones(1, 1, 4, 4)).shape
    torch.Size([1, 1, 2, 2])

"""

from torch_aclnn.nn.batch_norm import BatchNorm1d, BatchNorm2d, BatchNorm3d, SyncBatchNorm
from torch_aclnn.nn.padding import (
    CircularPad1d,
    CircularPad2d,
    CircularPad3d,
    ReflectionPad1d,
    ReflectionPad2d,
    ReflectionPad3d,
    ReplicationPad1d,
    ReplicationPad2d,
    ReplicationPad3d,
)
from torch_aclnn.nn.pooling import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveAvgPool3d,
    AvgPool1d,
    AvgPool2d,
    AvgPool3d,
    MaxUnpool1d,
    MaxUnpool2d,
    MaxUnpool3d,
)

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "SyncBatchNorm",
]

for _name in __all__:
    # The public path is what pickles and reprs name. inspect.getsource looks for the class there too, in vain; it finds the methods.
    globals()[_name].__module__ = __name__


def __dir__() -> list[str]:
    return sorted(__all__)
