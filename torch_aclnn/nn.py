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

__all__ = ["AdaptiveAvgPool2d", "AvgPool2d", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "MaxUnpool3d", "ReplicationPad2d"]


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


class _BatchNorm(nn.modules.batchnorm._BatchNorm):
    def forward(self, input: Tensor) -> Tensor:
        """Normalise each channel, and in training mode move the running statistics."""
        self._check_input_dim(input)
        running = (self.running_mean, self.running_var) if self.track_running_stats or not self.training else (None, None)
        use_batch_statistics = self.training or self.running_mean is None
        return functional.batch_norm(input, *running, self.weight, self.bias, use_batch_statistics, self._count_batch(), self.eps)

    def _count_batch(self) -> float:
        """Return how much of this batch goes into the running statistics."""
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the plain average of all batches
                return 1.0 / float(self.num_batches_tracked)
        return self.momentum or 0.0


class BatchNorm1d(_BatchNorm, nn.BatchNorm1d):
    """:class:`torch.nn.BatchNorm1d` on :func:`torch_aclnn.functional.batch_norm` (``aclnnBatchNormElemtBackward``)."""


class BatchNorm2d(_BatchNorm, nn.BatchNorm2d):
    """:class:`torch.nn.BatchNorm2d` on :func:`torch_aclnn.functional.batch_norm` (``aclnnBatchNormElemtBackward``)."""


class BatchNorm3d(_BatchNorm, nn.BatchNorm3d):
    """:class:`torch.nn.BatchNorm3d` on :func:`torch_aclnn.functional.batch_norm` (``aclnnBatchNormElemtBackward``)."""
