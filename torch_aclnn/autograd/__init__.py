"""One ``torch.autograd.Function`` per operator, and one for its derivative.

``X.apply`` is the forward of torch whose gradient comes from the aclnn entry point; ``XBackward.apply`` is that gradient as a function
that can be differentiated again. The functions in :mod:`torch_aclnn.functional` check their arguments and call these.
"""

from torch_aclnn.autograd import _fake  # noqa: F401  (registers)
from torch_aclnn.autograd.adaptive_avg_pool2d import AdaptiveAvgPool2d, AdaptiveAvgPool2dBackward
from torch_aclnn.autograd.avg_pool2d import AvgPool2d, AvgPool2dBackward
from torch_aclnn.autograd.batch_norm_elemt import BatchNorm, BatchNormElemtBackward
from torch_aclnn.autograd.max_unpool3d import MaxUnpool3d, MaxUnpool3dBackward
from torch_aclnn.autograd.replication_pad2d import ReplicationPad2d, ReplicationPad2dBackward

__all__ = [
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool2dBackward",
    "AvgPool2d",
    "AvgPool2dBackward",
    "BatchNorm",
    "BatchNormElemtBackward",
    "MaxUnpool3d",
    "MaxUnpool3dBackward",
    "ReplicationPad2d",
    "ReplicationPad2dBackward",
]
