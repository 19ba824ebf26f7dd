"""Average pooling of volumes to a given size."""

from torch_aclnn import functional
from torch import Tensor, nn
from torch_aclnn.nn._typed_call import TypedCall

__all__ = ["AdaptiveAvgPool3d"]


class AdaptiveAvgPool3d(TypedCall, nn.AdaptiveAvgPool3d):
    """:class:`torch.nn.AdaptiveAvgPool3d` on :func:`torch_aclnn.functional.adaptive_avg_pool3d` (``aclnnAdaptiveAvgPool3dBackward``)."""

    def forward(self, input: Tensor) -> Tensor:
        """Pool (N, C, D, H, W) or (C, D, H, W)."""
        return functional.adaptive_avg_pool3d(input, self.output_size)
