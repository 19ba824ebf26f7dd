"""Batch norm, and instance norm, which is batch norm of the channels of each sample."""

import inspect
from typing import Any

import torch
from torch_aclnn import functional
from torch import Tensor, nn
from torch_aclnn.nn._calls import TypedCall

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "SyncBatchNorm"]


def _recorded(module: nn.Module, input: Tensor) -> Any:
    """Return a call of the module for torch.fx to record, as it does for torch's own, so that mode and statistics stay in the module."""
    if not isinstance(input, torch.fx.Proxy) or not isinstance(input.tracer, torch.fx.Tracer) or input.tracer.root is module:
        return None
    return input.tracer.create_proxy("call_module", input.tracer.path_of_module(module), (input,), {})


class _BatchNorm(TypedCall, nn.modules.batchnorm._BatchNorm):
    def forward(self, input: Tensor) -> Tensor:
        """Normalise each channel, and in training mode move the running statistics."""
        if (recorded := _recorded(self, input)) is not None:
            return recorded
        self._check_input_dim(input)
        running = (self.running_mean, self.running_var) if self.track_running_stats or not self.training else (None, None)
        use_batch_statistics = self.training or self.running_mean is None
        return self._normalise(input, *running, self.weight, self.bias, use_batch_statistics, self._count_batch(), self.eps)

    def _normalise(self, *arguments: Any) -> Tensor:
        return functional.batch_norm(*arguments)

    def _count_batch(self) -> float:
        """Count the batch, and return the share with which it enters the running statistics."""
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the running statistics are the average of all batches
                return 1.0 / float(self.num_batches_tracked)
        return self.momentum or 0.0


class BatchNorm1d(_BatchNorm, nn.BatchNorm1d):
    """:class:`torch.nn.BatchNorm1d` on :func:`torch_aclnn.functional.batch_norm` (``aclnnBatchNormElemtBackward``)."""


class BatchNorm2d(_BatchNorm, nn.BatchNorm2d):
    """:class:`torch.nn.BatchNorm2d` on :func:`torch_aclnn.functional.batch_norm` (``aclnnBatchNormElemtBackward``)."""


class BatchNorm3d(_BatchNorm, nn.BatchNorm3d):
    """:class:`torch.nn.BatchNorm3d` on :func:`torch_aclnn.functional.batch_norm` (``aclnnBatchNormElemtBackward``)."""


class _InstanceNorm(TypedCall, nn.modules.instancenorm._InstanceNorm):
    def forward(self, input: Tensor) -> Tensor:
        """Normalise each channel of each sample, and in training mode move the running statistics, if there are any."""
        return recorded if (recorded := _recorded(self, input)) is not None else super().forward(input)

    def _apply_instance_norm(self, input: Tensor) -> Tensor:
        samples, channels = input.shape[:2]
        uses_input = self.training or not self.track_running_stats
        if uses_input and input.shape[2:].numel() == 1:
            raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
        parameters = (self.running_mean, self.running_var, self.weight, self.bias)
        mean, var, weight, bias = (None if t is None else t.repeat(samples) for t in parameters)
        joined = input.reshape(1, samples * channels, *input.shape[2:])
        result = functional.batch_norm(joined, mean, var, weight, bias, uses_input, self.momentum or 0.0, self.eps)
        if uses_input:
            for own, moved in ((self.running_mean, mean), (self.running_var, var)):
                if own is not None and moved is not None:
                    own.copy_(moved.view(samples, channels).mean(0))
        return result.view(input.shape)


class InstanceNorm1d(_InstanceNorm, nn.InstanceNorm1d):
    """:class:`torch.nn.InstanceNorm1d` on :func:`torch_aclnn.functional.batch_norm` (``aclnnBatchNormElemtBackward``)."""


class InstanceNorm2d(_InstanceNorm, nn.InstanceNorm2d):
    """:class:`torch.nn.InstanceNorm2d` on :func:`torch_aclnn.functional.batch_norm` (``aclnnBatchNormElemtBackward``)."""


class InstanceNorm3d(_InstanceNorm, nn.InstanceNorm3d):
    """:class:`torch.nn.InstanceNorm3d` on :func:`torch_aclnn.functional.batch_norm` (``aclnnBatchNormElemtBackward``)."""


class SyncBatchNorm(_BatchNorm):
    """:class:`torch.nn.SyncBatchNorm` on :func:`torch_aclnn.functional.sync_batch_norm`, also on ``cpu``.

    In evaluation, and without other processes, it is :func:`torch_aclnn.functional.batch_norm`. It has the arguments and the state of
    torch's, but is no subclass of it: DistributedDataParallel refuses those on ``cpu``.

    Example:
        >>> model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8))
        >>> torch_aclnn.nn.SyncBatchNorm.convert_sync_batchnorm(model)[1]
        SyncBatchNorm(8, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)

    """

    # The signature is that of the installed torch, which has no argument `bias` in older versions.
    __signature__ = inspect.signature(nn.SyncBatchNorm)

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any | None = None,
        device: Any = None,
        dtype: Any = None,
        **bias: bool,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device=device, dtype=dtype, **bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def _normalise(self, *arguments: Any) -> Tensor:
        if not self.training:
            return functional.batch_norm(*arguments)
        return functional.sync_batch_norm(*(*arguments, self.process_group))

    @classmethod
    def convert_sync_batchnorm(cls, module: nn.Module, process_group: Any | None = None) -> nn.Module:
        """Replace each batch norm of a model, of torch's classes or of this package's, by a synchronised one.

        As :meth:`torch.nn.SyncBatchNorm.convert_sync_batchnorm`: the new modules take over parameters, buffers and training mode, but not
        the hooks.

        Args:
            module: a model, or a single module.
            process_group: the processes that share their batches; None means all.

        Returns:
            The same module; if it is a batch norm itself, a new one.

        """
        converted = nn.SyncBatchNorm.convert_sync_batchnorm(module, process_group)
        for part in converted.modules():
            if type(part) is nn.SyncBatchNorm:
                part.__class__ = cls  # type: ignore[assignment]
        return converted
