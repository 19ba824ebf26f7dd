"""Networks of which benchmarks.training times a step, with a batch that takes tens to hundreds of milliseconds on two cores."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def conv(channels_in: int, channels: int, kernel: int = 3, stride: int = 1) -> nn.Sequential:
    """Return a convolution without bias, with batch norm."""
    return nn.Sequential(nn.Conv2d(channels_in, channels, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(channels))


class BasicBlock(nn.Module):
    """Two convolutions and a shortcut around them."""

    def __init__(self, channels_in: int, channels: int, stride: int) -> None:
        super().__init__()
        self.first, self.second = conv(channels_in, channels, 3, stride), conv(channels, channels)
        self.shortcut = conv(channels_in, channels, 1, stride) if stride != 1 or channels_in != channels else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        """Return (N, channels, H / stride, W / stride)."""
        return F.relu(self.second(F.relu(self.first(x))) + self.shortcut(x))


def resnet18() -> nn.Module:
    """Return ResNet-18 with 1000 classes."""
    blocks: list[nn.Module] = [conv(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    for channels_in, channels in ((64, 64), (64, 128), (128, 256), (256, 512)):
        blocks += [BasicBlock(channels_in, channels, channels // channels_in), BasicBlock(channels, channels, 1)]
    return nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


def padded(channels_in: int, channels: int) -> nn.Sequential:
    """Return two convolutions over repeated edges."""
    layers: list[nn.Module] = []
    for width in (channels_in, channels):
        layers += [nn.ReplicationPad2d(1), nn.Conv2d(width, channels, 3, bias=False), nn.BatchNorm2d(channels), nn.ReLU()]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    """Down by average pooling, up by interpolation."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.down1, self.down2, self.bottom = padded(3, width), padded(width, 2 * width), padded(2 * width, 4 * width)
        self.up2, self.up1, self.head = padded(6 * width, 2 * width), padded(3 * width, width), nn.Conv2d(width, 3, 1)
        self.pool, self.up = nn.AvgPool2d(2), nn.Upsample(scale_factor=2)

    def forward(self, x: Tensor) -> Tensor:
        """Return (N, 3, H, W)."""
        fine = self.down1(x)
        coarse = self.down2(self.pool(fine))
        x = self.up2(torch.cat([self.up(self.bottom(self.pool(coarse))), coarse], 1))
        return self.head(self.up1(torch.cat([self.up(x), fine], 1)))


class SegNet(nn.Module):
    """Each unpooling puts values back where the pooling on its level found them; in three dimensions."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        sizes = ((1, width), (width, 2 * width), (2 * width, width))
        self.convs = nn.ModuleList(nn.Sequential(nn.Conv3d(*s, 3, padding=1, bias=False), nn.BatchNorm3d(s[1])) for s in sizes)
        self.head, self.pool, self.unpool = nn.Conv3d(width, 1, 3, padding=1), nn.MaxPool3d(2, return_indices=True), nn.MaxUnpool3d(2)

    def forward(self, x: Tensor) -> Tensor:
        """Return (N, 1, D, H, W)."""
        x, where1 = self.pool(F.relu(self.convs[0](x)))
        x, where2 = self.pool(F.relu(self.convs[1](x)))
        x = F.relu(self.convs[2](self.unpool(x, where2)))
        return self.head(self.unpool(x, where1))


class Transformer(nn.Module):
    """An encoder over tokens."""

    def __init__(self, width: int = 192, layers: int = 4) -> None:
        super().__init__()
        self.token = nn.Embedding(1000, width)
        layer = nn.TransformerEncoderLayer(width, 6, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
        self.encoder, self.head = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False), nn.Linear(width, 1000)

    def forward(self, x: Tensor) -> Tensor:
        """Return (N, 1000) logits."""
        return self.head(self.encoder(self.token(x)).mean(1))


class LlamaBlock(nn.Module):
    """Attention with rotated positions, and a gated network, each behind a root-mean-square norm."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.gate, self.up, self.down = (
            nn.Linear(*size, bias=False) for size in ((width, 3 * width), (width, 3 * width), (3 * width, width))
        )

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Return the shape of x, (N, length, width)."""
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        q, k = (t * cos + torch.cat([-t.chunk(2, -1)[1], t.chunk(2, -1)[0]], -1) * sin for t in (q, k))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    """A small decoder over tokens."""

    def __init__(self, width: int = 192, heads: int = 6, layers: int = 4) -> None:
        super().__init__()
        self.token, self.norm, self.head = nn.Embedding(1000, width), nn.RMSNorm(width), nn.Linear(width, 1000, bias=False)
        self.blocks = nn.ModuleList(LlamaBlock(width, heads) for _ in range(layers))
        self.size = width // heads

    def forward(self, x: Tensor) -> Tensor:
        """Return (N, length, 1000) logits."""
        frequencies = 10000 ** (-torch.arange(0, self.size, 2, device=x.device) / self.size)
        angles = torch.arange(x.shape[1], device=x.device).unsqueeze(1) * frequencies.repeat(2)
        x = self.token(x)
        for block in self.blocks:
            x = block(x, angles.cos(), angles.sin())
        return self.head(self.norm(x))


@dataclass(frozen=True)
class Network:
    """A network and a batch for it; the loss is the mean of squares, whose gradient is cheap."""

    name: str
    make: Callable[[], nn.Module]
    batch: Callable[[], Tensor]


NETWORKS = (
    Network("ResNet-18 4x3x128x128", resnet18, lambda: torch.randn(4, 3, 128, 128)),
    Network("U-Net 4x3x96x96", UNet, lambda: torch.randn(4, 3, 96, 96)),
    Network("SegNet 4x1x32x32x32", SegNet, lambda: torch.randn(4, 1, 32, 32, 32)),
    Network("Transformer 8x64", Transformer, lambda: torch.randint(0, 1000, (8, 64))),
    Network("Llama 4x64", Llama, lambda: torch.randint(0, 1000, (4, 64))),
)
