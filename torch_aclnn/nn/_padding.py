"""Padding by elements of the input."""

from typing import Any

from torch import Tensor, nn
from torch_aclnn.nn._calls import OfPlanes

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
]


class _Pad(OfPlanes):
    padding: Any

    def forward(self, input: Tensor) -> Tensor:
        """Pad each plane of (N, C, plane) or (C, plane)."""
        return self._call(input, self.padding)


class CircularPad1d(_Pad, nn.CircularPad1d):
    """:class:`torch.nn.CircularPad1d` on :func:`torch_aclnn.functional.circular_pad1d` (``aclnnCircularPad2dBackward``)."""


class CircularPad2d(_Pad, nn.CircularPad2d):
    """:class:`torch.nn.CircularPad2d` on :func:`torch_aclnn.functional.circular_pad2d` (``aclnnCircularPad2dBackward``)."""


class CircularPad3d(_Pad, nn.CircularPad3d):
    """:class:`torch.nn.CircularPad3d` on :func:`torch_aclnn.functional.circular_pad3d` (``aclnnCircularPad3dBackward``)."""


class ReflectionPad1d(_Pad, nn.ReflectionPad1d):
    """:class:`torch.nn.ReflectionPad1d` on :func:`torch_aclnn.functional.reflection_pad1d` (``aclnnReflectionPad1dBackward``)."""


class ReflectionPad2d(_Pad, nn.ReflectionPad2d):
    """:class:`torch.nn.ReflectionPad2d` on :func:`torch_aclnn.functional.reflection_pad2d` (``aclnnReflectionPad2dBackward``)."""


class ReflectionPad3d(_Pad, nn.ReflectionPad3d):
    """:class:`torch.nn.ReflectionPad3d` on :func:`torch_aclnn.functional.reflection_pad3d` (``aclnnReflectionPad3dBackward``)."""


class ReplicationPad1d(_Pad, nn.ReplicationPad1d):
    """:class:`torch.nn.ReplicationPad1d` on :func:`torch_aclnn.functional.replication_pad1d` (``aclnnReplicationPad1dBackward``)."""


class ReplicationPad2d(_Pad, nn.ReplicationPad2d):
    """:class:`torch.nn.ReplicationPad2d` on :func:`torch_aclnn.functional.replication_pad2d` (``aclnnReplicationPad2dBackward``)."""


class ReplicationPad3d(_Pad, nn.ReplicationPad3d):
    """:class:`torch.nn.ReplicationPad3d` on :func:`torch_aclnn.functional.replication_pad3d` (``aclnnReplicationPad3dBackward``)."""
