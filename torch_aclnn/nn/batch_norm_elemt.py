"""Batch norm."""

from torch_aclnn import functional
from torch import Tensor, nn
from torch_aclnn.nn._typed_call import TypedCall

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d"]


class _BatchNorm(TypedCall, nn.modules.batchnorm._BatchNorm):
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
