"""Average pooling to a given size."""

from torch_aclnn import functional
from torch import Tensor, nn
from torch_aclnn.nn._typed_call import TypedCall

__all__ = ["AdaptiveAvgPool2d"]


class AdaptiveAvgPool2d(TypedCall, nn.AdaptiveAvgPool2d):
    """:class:`torch.nn.AdaptiveAvgPool2d` on :func:`torch_aclnn.functional.adaptive_avg_pool2d` (``aclnnAdaptiveAvgPool2dBackward``)."""

    def forward(self, input: Tensor) -> Tensor:
        """Pool (N, C, H, W) or (C, H, W)."""
        return functional.adaptive_avg_pool2d(input, self.output_size)
