"""Inception blocks: parallel branches, of which one is an average pooling that does not count its padding."""

import torch
from torch import Tensor, nn


def conv(channels_in: int, channels: int, kernel: int) -> nn.Sequential:
    """Return a convolution that keeps the size, with batch norm and ReLU."""
    return nn.Sequential(
        nn.Conv2d(channels_in, channels, kernel, padding=kernel // 2, bias=False), nn.BatchNorm2d(channels), nn.ReLU(inplace=True)
    )


class InceptionBlock(nn.Module):
    """Concatenate four views of the same input: 1x1, 3x3, 5x5, and pooled."""

    def __init__(self, channels_in: int, branch: int) -> None:
        super().__init__()
        self.point = conv(channels_in, branch, 1)
        self.small = nn.Sequential(conv(channels_in, branch, 1), conv(branch, branch, 3))
        self.large = nn.Sequential(conv(channels_in, branch, 1), conv(branch, branch, 5))
        pool = nn.AvgPool2d(3, stride=1, padding=1, count_include_pad=False)
        self.pooled = nn.Sequential(pool, conv(channels_in, branch, 1))

    def forward(self, x: Tensor) -> Tensor:
        """Return (N, 4 * branch, H, W)."""
        return torch.cat([self.point(x), self.small(x), self.large(x), self.pooled(x)], dim=1)


class Inception(nn.Module):
    """Classify (N, 1, H, W) images into ten classes."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(conv(1, 16, 3), InceptionBlock(16, 8), nn.MaxPool2d(3, stride=2, padding=1), InceptionBlock(32, 16))
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(64, 10))

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits (N, 10)."""
        return self.head(self.features(x))
