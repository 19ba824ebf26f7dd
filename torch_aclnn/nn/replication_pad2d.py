"""Padding by the values at the edges."""

from torch_aclnn import functional
from torch import Tensor, nn
from torch_aclnn.nn._typed_call import TypedCall

__all__ = ["ReplicationPad2d"]


class ReplicationPad2d(TypedCall, nn.ReplicationPad2d):
    """:class:`torch.nn.ReplicationPad2d` on :func:`torch_aclnn.functional.replication_pad2d` (``aclnnReplicationPad2dBackward``)."""

    def forward(self, input: Tensor) -> Tensor:
        """Pad (N, C, H, W) or (C, H, W)."""
        return functional.replication_pad2d(input, self.padding)
