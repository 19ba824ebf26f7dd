"""SegNet in three dimensions: each unpooling puts values back where the pooling on the same level found its maxima."""

from torch import Tensor, nn


def conv(channels_in: int, channels: int) -> nn.Sequential:
    """Return a 3x3x3 convolution that keeps the size, with batch norm and ReLU."""
    return nn.Sequential(nn.Conv3d(channels_in, channels, 3, padding=1, bias=False), nn.BatchNorm3d(channels), nn.ReLU(inplace=True))


class SegNet3d(nn.Module):
    """Denoise (N, 1, D, H, W) volumes whose sizes are multiples of four."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.encode1, self.encode2 = conv(1, width), conv(width, 2 * width)
        self.decode2, self.decode1 = conv(2 * width, width), nn.Conv3d(width, 1, 3, padding=1)
        self.pool, self.unpool = nn.MaxPool3d(2, return_indices=True), nn.MaxUnpool3d(2)

    def forward(self, x: Tensor) -> Tensor:
        """Return (N, 1, D, H, W)."""
        x, where1 = self.pool(self.encode1(x))
        x, where2 = self.pool(self.encode2(x))
        x = self.decode2(self.unpool(x, where2))
        return self.decode1(self.unpool(x, where1))
