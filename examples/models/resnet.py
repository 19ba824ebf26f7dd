"""ResNet-18 for small images: batch norm, residual connections, adaptive average pooling."""

from torch import Tensor, nn


class BasicBlock(nn.Module):
    """Two convolutions and a shortcut around them."""

    def __init__(self, channels_in: int, channels: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels_in, channels, 3, stride, padding=1, bias=False), nn.BatchNorm2d(channels)
        self.conv2, self.bn2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or channels_in != channels:
            self.shortcut = nn.Sequential(nn.Conv2d(channels_in, channels, 1, stride, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x: Tensor) -> Tensor:
        """Return (N, channels, H / stride, W / stride)."""
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        y += self.shortcut(x)
        return self.relu(y)


class ResNet(nn.Module):
    """Classify (N, 1, H, W) images into ten classes; four stages of two blocks, as ResNet-18, with fewer channels."""

    def __init__(self, widths: tuple[int, ...] = (8, 16, 32, 64)) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, widths[0], 3, padding=1, bias=False), nn.BatchNorm2d(widths[0]), nn.ReLU(inplace=True))
        blocks, channels = [], widths[0]
        for width in widths:
            blocks += [BasicBlock(channels, width, 1 if width == channels else 2), BasicBlock(width, width, 1)]
            channels = width
        self.stages = nn.Sequential(*blocks)
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10))

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits (N, 10)."""
        return self.head(self.stages(self.stem(x)))
