"""Padding by reflection at the edges."""

from torch_aclnn import functional
from torch import Tensor, nn
from torch_aclnn.nn._typed_call import TypedCall

__all__ = ["ReflectionPad2d"]


class ReflectionPad2d(TypedCall, nn.ReflectionPad2d):
    """:class:`torch.nn.ReflectionPad2d` on :func:`torch_aclnn.functional.reflection_pad2d` (``aclnnReflectionPad2dBackward``)."""

    def forward(self, input: Tensor) -> Tensor:
        """Pad (N, C, H, W) or (C, H, W)."""
        return functional.reflection_pad2d(input, self.padding)
