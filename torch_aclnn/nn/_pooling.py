"""Average pooling, to windows and to a given size, and max unpooling."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn
from torch_aclnn.nn._calls import OfPlanes

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]


class AvgPool1d(OfPlanes, nn.AvgPool1d):
    """:class:`torch.nn.AvgPool1d` on :func:`torch_aclnn.functional.avg_pool1d` (``aclnnAvgPool2dBackward``)."""

    def forward(self, input: Tensor) -> Tensor:
        """Pool (N, C, L) or (C, L)."""
        return self._call(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class _AvgPool(OfPlanes):
    kernel_size: Any
    stride: Any
    padding: Any
    ceil_mode: bool
    count_include_pad: bool
    divisor_override: int | None

    def forward(self, input: Tensor) -> Tensor:
        """Pool each plane of (N, C, plane) or (C, plane)."""
        windows = self.kernel_size, self.stride, self.padding
        return self._call(input, *windows, self.ceil_mode, self.count_include_pad, self.divisor_override)


class AvgPool2d(_AvgPool, nn.AvgPool2d):
    """:class:`torch.nn.AvgPool2d` on :func:`torch_aclnn.functional.avg_pool2d` (``aclnnAvgPool2dBackward``)."""


class AvgPool3d(_AvgPool, nn.AvgPool3d):
    """:class:`torch.nn.AvgPool3d` on :func:`torch_aclnn.functional.avg_pool3d` (``aclnnAvgPool3dBackward``)."""


class _AdaptiveAvgPool(OfPlanes):
    output_size: Any

    def forward(self, input: Tensor) -> Tensor:
        """Pool each plane of (N, C, plane) or (C, plane)."""
        return self._call(input, self.output_size)


class AdaptiveAvgPool1d(_AdaptiveAvgPool, nn.AdaptiveAvgPool1d):
    """:class:`torch.nn.AdaptiveAvgPool1d` on :func:`torch_aclnn.functional.adaptive_avg_pool1d` (``aclnnAdaptiveAvgPool2dBackward``)."""


class AdaptiveAvgPool2d(_AdaptiveAvgPool, nn.AdaptiveAvgPool2d):
    """:class:`torch.nn.AdaptiveAvgPool2d` on :func:`torch_aclnn.functional.adaptive_avg_pool2d` (``aclnnAdaptiveAvgPool2dBackward``)."""


class AdaptiveAvgPool3d(_AdaptiveAvgPool, nn.AdaptiveAvgPool3d):
    """:class:`torch.nn.AdaptiveAvgPool3d` on :func:`torch_aclnn.functional.adaptive_avg_pool3d` (``aclnnAdaptiveAvgPool3dBackward``)."""


class _MaxUnpool(OfPlanes):
    kernel_size: Any
    stride: Any
    padding: Any

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """Unpool each plane of (N, C, plane) or (C, plane)."""
        return self._call(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool1d(_MaxUnpool, nn.MaxUnpool1d):
    """:class:`torch.nn.MaxUnpool1d` on :func:`torch_aclnn.functional.max_unpool1d` (``aclnnMaxUnpool2dBackward``)."""


class MaxUnpool2d(_MaxUnpool, nn.MaxUnpool2d):
    """:class:`torch.nn.MaxUnpool2d` on :func:`torch_aclnn.functional.max_unpool2d` (``aclnnMaxUnpool2dBackward``)."""


class MaxUnpool3d(_MaxUnpool, nn.MaxUnpool3d):
    """:class:`torch.nn.MaxUnpool3d` on :func:`torch_aclnn.functional.max_unpool3d` (``aclnnMaxUnpool3dBackward``)."""
