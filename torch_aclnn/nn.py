"""Drop-in modules: the names, arguments, state and repr of :mod:`torch.nn`, with gradients from aclnn entry points.

Example:
    >>> pool = torch_aclnn.nn.AvgPool2d(kernel_size=2)
    >>> pool
    AvgPool2d(kernel_size=2, stride=2, padding=0)
    >>> pool(torch.ones(1, 1, 4, 4)).shape
    torch.Size([1, 1, 2, 2])

"""

from collections.abc import Sequence

from torch_aclnn import functional
from torch import Tensor, nn

__all__ = ["AdaptiveAvgPool2d", "AvgPool2d", "MaxUnpool3d", "ReplicationPad2d"]


class AvgPool2d(nn.AvgPool2d):
    """:class:`torch.nn.AvgPool2d` on :func:`torch_aclnn.functional.avg_pool2d` (``aclnnAvgPool2dBackward``)."""

    def forward(self, input: Tensor) -> Tensor:
        """Pool (N, C, H, W) or (C, H, W)."""
        return functional.avg_pool2d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AdaptiveAvgPool2d(nn.AdaptiveAvgPool2d):
    """:class:`torch.nn.AdaptiveAvgPool2d` on :func:`torch_aclnn.functional.adaptive_avg_pool2d` (``aclnnAdaptiveAvgPool2dBackward``)."""

    def forward(self, input: Tensor) -> Tensor:
        """Pool (N, C, H, W) or (C, H, W)."""
        return functional.adaptive_avg_pool2d(input, self.output_size)


class ReplicationPad2d(nn.ReplicationPad2d):
    """:class:`torch.nn.ReplicationPad2d` on :func:`torch_aclnn.functional.replication_pad2d` (``aclnnReplicationPad2dBackward``)."""

    def forward(self, input: Tensor) -> Tensor:
        """Pad (N, C, H, W) or (C, H, W)."""
        return functional.replication_pad2d(input, self.padding)


class MaxUnpool3d(nn.MaxUnpool3d):
    """:class:`torch.nn.MaxUnpool3d` on :func:`torch_aclnn.functional.max_unpool3d` (``aclnnMaxUnpool3dBackward``)."""

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """Unpool (N, C, D, H, W) or (C, D, H, W)."""
        return functional.max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)
