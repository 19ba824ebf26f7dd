"""Max unpooling."""

from collections.abc import Sequence

from torch_aclnn import functional
from torch import Tensor, nn
from torch_aclnn.nn._typed_call import TypedCall

__all__ = ["MaxUnpool3d"]


class MaxUnpool3d(TypedCall, nn.MaxUnpool3d):
    """:class:`torch.nn.MaxUnpool3d` on :func:`torch_aclnn.functional.max_unpool3d` (``aclnnMaxUnpool3dBackward``)."""

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """Unpool (N, C, D, H, W) or (C, D, H, W)."""
        return functional.max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)
