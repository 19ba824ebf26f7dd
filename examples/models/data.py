"""The data of the examples, the same in each run: scikit-learn's handwritten digits, and generated images and volumes."""

import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn


def digits() -> tuple[Tensor, Tensor]:
    """Return 1797 images (N, 1, 8, 8) in [0, 1] and their labels, shuffled."""
    bunch = load_digits()
    images, labels = torch.tensor(bunch.images, dtype=torch.float32).unsqueeze(1) / 16, torch.tensor(bunch.target)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))
    return images[order], labels[order]


def large_digits() -> tuple[Tensor, Tensor]:
    """Return the digits as images of twice the height and width."""
    images, labels = digits()
    return nn.functional.interpolate(images, scale_factor=2, mode="bilinear"), labels


def digit_sequences() -> tuple[Tensor, Tensor]:
    """Return the digits, at half their height and width, as sequences (N, 16) of grey values from 0 to 16."""
    images, labels = digits()
    return (nn.functional.avg_pool2d(images, 2) * 16).round().long().flatten(1), labels


def _balls(count: int, size: int, dimensions: int) -> Tensor:
    """Return (count, 1, size, ...) in [0, 1], each with a smooth ball of its own place and radius."""
    generator = torch.Generator().manual_seed(0)
    axis = torch.arange(size, dtype=torch.float32)
    grid = torch.stack(torch.meshgrid(*[axis] * dimensions, indexing="ij"))
    each = (count, *[1] * dimensions)
    centres = size * (0.3 + 0.4 * torch.rand(count, dimensions, *each[1:], generator=generator))
    radii = size * (0.1 + 0.2 * torch.rand(each, generator=generator))
    return torch.sigmoid(radii - (grid - centres).norm(dim=1)).unsqueeze(1)


def _noisy(clean: Tensor, spread: float) -> Tensor:
    return clean + spread * torch.randn(clean.shape, generator=torch.Generator().manual_seed(1))


def noisy_discs() -> tuple[Tensor, Tensor]:
    """Return noisy images (320, 1, 16, 16) of a disc, and where the disc is."""
    discs = _balls(320, 16, 2)
    return _noisy(discs, 0.5), (discs > 0.5).float()


def noisy_volumes() -> tuple[Tensor, Tensor]:
    """Return noisy volumes (64, 1, 16, 16, 16) of a ball, and the same without noise."""
    balls = _balls(64, 16, 3)
    return _noisy(balls, 0.1), balls
