"""LeNet-5: convolutions and average pooling."""

from torch import Tensor, nn


class LeNet(nn.Module):
    """Classify (N, 1, 16, 16) images into ten classes."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(), nn.AvgPool2d(2)
        )
        self.classifier = nn.Sequential(nn.Flatten(), nn.Linear(64, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(), nn.Linear(84, 10))

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits (N, 10)."""
        return self.classifier(self.features(x))
