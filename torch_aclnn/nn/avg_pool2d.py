"""Average pooling."""

from torch_aclnn import functional
from torch import Tensor, nn
from torch_aclnn.nn._typed_call import TypedCall

__all__ = ["AvgPool2d"]


class AvgPool2d(TypedCall, nn.AvgPool2d):
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
