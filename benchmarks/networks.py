"""What benchmarks.training times: a training step of six models, and a loop that decodes, each on a device."""

from collections.abc import Callable
from dataclasses import dataclass

import torch_aclnn
import torch
from torch import Tensor, nn
from torch.nn import functional as F

VOCABULARY = 1000


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


class Block(nn.Module):
    """Causal attention and a feed-forward network, each behind a layer norm. A cache is a list with the keys and values so far."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor, cache: list[Tensor] | None = None) -> Tensor:
        """Return the shape of x, (N, length, width)."""
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        if cache:
            k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
        if cache is not None:
            cache[:] = k, v
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=q.shape[2] > 1)
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    """A decoder over tokens."""

    def __init__(self, layers: int, width: int = 256, heads: int = 4) -> None:
        super().__init__()
        self.token, self.norm, self.head = nn.Embedding(VOCABULARY, width), nn.LayerNorm(width), nn.Linear(width, VOCABULARY)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))

    def forward(self, x: Tensor, caches: list[list[Tensor]] | None = None) -> Tensor:
        """Return (N, length, 1000) logits."""
        x = self.token(x)
        for i, block in enumerate(self.blocks):
            x = block(x, caches[i] if caches is not None else None)
        return self.head(self.norm(x))


class Lstm(nn.Module):
    """Two LSTM layers over tokens."""

    def __init__(self, width: int = 128) -> None:
        super().__init__()
        self.token, self.head = nn.Embedding(VOCABULARY, width), nn.Linear(width, VOCABULARY)
        self.lstm = nn.LSTM(width, width, 2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        """Return (N, length, 1000) logits."""
        return self.head(self.lstm(self.token(x))[0])


def normed(channels_in: int, channels: int) -> nn.Sequential:
    """Return a convolution with group norm."""
    return nn.Sequential(nn.Conv2d(channels_in, channels, 3, padding=1), nn.GroupNorm(8, channels), nn.SiLU())


class Convolutions(nn.Module):
    """A network that pools, interpolates back, and averages to ten classes."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.fine, self.coarse, self.joined = normed(3, width), normed(width, 2 * width), normed(3 * width, width)
        self.pool, self.up, self.head = nn.MaxPool2d(2), nn.Upsample(scale_factor=2), nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Return (N, 10) logits."""
        fine = self.fine(x)
        x = self.joined(torch.cat([fine, self.up(self.coarse(self.pool(fine)))], 1))
        return self.head(x.mean((2, 3)))


def embedding_and_mlp() -> nn.Module:
    """Return an embedding of 16 positions with 20,000 categories and an MLP, with 10 classes."""
    layers = (nn.Embedding(20000, 64), nn.Flatten(), nn.Linear(16 * 64, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10))
    return nn.Sequential(*layers)


# A call is one unit of what is timed; it ends when its result has arrived in Python.
Step = Callable[[], float]


@dataclass(frozen=True)
class Training:
    """Forward, cross entropy, backward and an update of the parameters."""

    make: Callable[[], nn.Module]
    batch: Callable[[], Tensor]
    classes: int
    optimizer: type[torch.optim.Optimizer] = torch.optim.AdamW
    dtype: torch.dtype = torch.float32

    def start(self, device: str, converted: bool) -> Step:
        """Make the model, with the same parameters each time, and return its step."""
        torch.manual_seed(0)
        model = self.make()
        model = (torch_aclnn.convert(model) if converted else model).to(device, self.dtype)
        batch = self.batch().to(device)
        optimizer = self.optimizer(model.parameters(), lr=1e-4)
        with torch.no_grad():
            targets = torch.randint(0, self.classes, model(batch).shape[:-1]).flatten().to(device)

        def step() -> float:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(batch).flatten(0, -2).float(), targets)
            loss.backward()
            optimizer.step()
            return loss.item()

        return step


def start_decoding(device: str, converted: bool) -> Step:
    """Make a model of two layers, and return a step that decodes 32 tokens behind a prompt of 16; the result is the last of them."""
    torch.manual_seed(0)
    model = Transformer(2)
    model = (torch_aclnn.convert(model) if converted else model).to(device)
    prompt = torch.randint(0, VOCABULARY, (1, 16)).to(device)

    @torch.no_grad()
    def step() -> float:
        caches: list[list[Tensor]] = [[], []]
        token = prompt
        for _ in range(32):
            token = model(token, caches)[:, -1:].argmax(-1)
        return token.item()

    return step


@dataclass(frozen=True)
class Workload:
    """A program to time, and the limit of its time on npu divided by that on cpu."""

    name: str
    start: Callable[[str, bool], Step]
    limit: float


def tokens(*shape: int) -> Callable[[], Tensor]:
    """Return a function that draws tokens."""
    return lambda: torch.randint(0, VOCABULARY, shape)


WORKLOADS = (
    Workload("transformer 4x128", Training(lambda: Transformer(4), tokens(4, 128), VOCABULARY).start, 1.05),
    Workload("the same in bfloat16", Training(lambda: Transformer(4), tokens(4, 128), VOCABULARY, dtype=torch.bfloat16).start, 0.6),
    Workload("LSTM 16x32", Training(Lstm, tokens(16, 32), VOCABULARY, torch.optim.Adam).start, 1.3),
    Workload("convolutions 4x3x64x64", Training(Convolutions, lambda: torch.randn(4, 3, 64, 64), 10).start, 0.9),
    Workload("embedding and MLP 256x16", Training(embedding_and_mlp, lambda: torch.randint(0, 20000, (256, 16)), 10).start, 0.95),
    Workload("ResNet-18 4x3x128x128", Training(resnet18, lambda: torch.randn(4, 3, 128, 128), 1000, torch.optim.SGD).start, 0.88),
    Workload("32 decoded tokens", start_decoding, 1.5),
)
