"""U-Net: down by max pooling, up by interpolation, with replicated edges so that the borders of an image look like images."""

import torch
from torch import Tensor, nn


def double_conv(channels_in: int, channels: int) -> nn.Sequential:
    """Return two 3x3 convolutions that keep the size."""
    layers: list[nn.Module] = []
    for width in (channels_in, channels):
        layers += [nn.ReplicationPad2d(1), nn.Conv2d(width, channels, 3, bias=False), nn.BatchNorm2d(channels), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    """Segment (N, 1, H, W) images, whose height and width are multiples of four."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.down1, self.down2 = double_conv(1, width), double_conv(width, 2 * width)
        self.bottom = double_conv(2 * width, 4 * width)
        self.up2, self.up1 = double_conv(6 * width, 2 * width), double_conv(3 * width, width)
        self.pool = nn.MaxPool2d(2)
        self.bilinear, self.nearest = nn.Upsample(scale_factor=2, mode="bilinear"), nn.Upsample(scale_factor=2)
        self.head = nn.Conv2d(width, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return a logit for each pixel, (N, 1, H, W)."""
        fine = self.down1(x)
        coarse = self.down2(self.pool(fine))
        x = self.bottom(self.pool(coarse))
        x = self.up2(torch.cat([self.bilinear(x), coarse], dim=1))
        x = self.up1(torch.cat([self.nearest(x), fine], dim=1))
        return self.head(x)
