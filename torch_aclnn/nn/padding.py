"""Padding by elements of the input."""

from collections.abc import Callable
from typing import Any, ClassVar

from torch_aclnn import functional
from torch import Tensor, nn
from torch_aclnn.nn._typed_call import TypedCall

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


class _Pad(TypedCall):
    _pad: ClassVar[Callable[..., Tensor]]
    padding: Any

    def forward(self, input: Tensor) -> Tensor:
        """Pad each plane of (N, C, plane) or (C, plane)."""
        return self._pad(input, self.padding)


class CircularPad1d(_Pad, nn.CircularPad1d):
    """:class:`torch.nn.CircularPad1d` on :func:`torch_aclnn.functional.circular_pad1d` (``aclnnCircularPad2dBackward``)."""

    _pad = staticmethod(functional.circular_pad1d)


class CircularPad2d(_Pad, nn.CircularPad2d):
    """:class:`torch.nn.CircularPad2d` on :func:`torch_aclnn.functional.circular_pad2d` (``aclnnCircularPad2dBackward``)."""

    _pad = staticmethod(functional.circular_pad2d)


class CircularPad3d(_Pad, nn.CircularPad3d):
    """:class:`torch.nn.CircularPad3d` on :func:`torch_aclnn.functional.circular_pad3d` (``aclnnCircularPad3dBackward``)."""

    _pad = staticmethod(functional.circular_pad3d)


class ReflectionPad1d(_Pad, nn.ReflectionPad1d):
    """:class:`torch.nn.ReflectionPad1d` on :func:`torch_aclnn.functional.reflection_pad1d` (``aclnnReflectionPad1dBackward``)."""

    _pad = staticmethod(functional.reflection_pad1d)


class ReflectionPad2d(_Pad, nn.ReflectionPad2d):
    """:class:`torch.nn.ReflectionPad2d` on :func:`torch_aclnn.functional.reflection_pad2d` (``aclnnReflectionPad2dBackward``)."""

    _pad = staticmethod(functional.reflection_pad2d)


class ReflectionPad3d(_Pad, nn.ReflectionPad3d):
    """:class:`torch.nn.ReflectionPad3d` on :func:`torch_aclnn.functional.reflection_pad3d` (``aclnnReflectionPad3dBackward``)."""

    _pad = staticmethod(functional.reflection_pad3d)


class ReplicationPad1d(_Pad, nn.ReplicationPad1d):
    """:class:`torch.nn.ReplicationPad1d` on :func:`torch_aclnn.functional.replication_pad1d` (``aclnnReplicationPad1dBackward``)."""

    _pad = staticmethod(functional.replication_pad1d)


class ReplicationPad2d(_Pad, nn.ReplicationPad2d):
    """:class:`torch.nn.ReplicationPad2d` on :func:`torch_aclnn.functional.replication_pad2d` (``aclnnReplicationPad2dBackward``)."""

    _pad = staticmethod(functional.replication_pad2d)


class ReplicationPad3d(_Pad, nn.ReplicationPad3d):
    """:class:`torch.nn.ReplicationPad3d` on :func:`torch_aclnn.functional.replication_pad3d` (``aclnnReplicationPad3dBackward``)."""

    _pad = staticmethod(functional.replication_pad3d)
