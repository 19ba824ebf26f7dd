"""Train a small CNN on scikit-learn's handwritten digits; the gradients of padding, pooling and batch norm come from aclnn entry points.

python examples/train_digits.py                # on npu: CANN's, or the host engine
python examples/train_digits.py --device cpu   # the same curve without the npu device
"""

import argparse
import time

import torch_aclnn  # before torch: it decides which libraries answer on the npu device
import torch
from rich.console import Console
from rich.progress import track
from sklearn.datasets import load_digits
from torch import Tensor, nn

from _report import print_calls, print_engine


class BatchNorm2d(nn.BatchNorm2d):
    """Batch norm whose training gradient is aclnnBatchNormElemtBackward."""

    def forward(self, input: Tensor) -> Tensor:
        """Normalise (N, C, H, W)."""
        return torch_aclnn.functional.batch_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias, self.training, self.momentum, self.eps
        )


def make_model() -> nn.Module:
    """Return a network for 8x8 images of one channel and ten classes."""
    return nn.Sequential(
        torch_aclnn.nn.ReplicationPad2d(1),
        nn.Conv2d(1, 32, 3),
        BatchNorm2d(32),
        nn.ReLU(),
        torch_aclnn.nn.AvgPool2d(2),
        torch_aclnn.nn.ReplicationPad2d(1),
        nn.Conv2d(32, 64, 3),
        BatchNorm2d(64),
        nn.ReLU(),
        torch_aclnn.nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(256, 10),
    )


def load_data() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return training and test images (N, 1, 8, 8) in [0, 1] and labels, shuffled in the same way each time."""
    digits = load_digits()
    images, labels = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16, torch.tensor(digits.target)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))
    train, test = order[:1400], order[1400:]
    return images[train], labels[train], images[test], labels[test]


def train_epoch(model: nn.Module, optimizer: torch.optim.Optimizer, images: Tensor, labels: Tensor, batch_size: int = 100) -> float:
    """Go once over the data and return the mean loss."""
    model.train()
    total = torch.zeros((), device=images.device)
    for start in range(0, len(labels), batch_size):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images[start : start + batch_size]), labels[start : start + batch_size])
        loss.backward()
        optimizer.step()
        total += loss.detach() * min(batch_size, len(labels) - start)
    return (total / len(labels)).item()


@torch.no_grad()
def accuracy(model: nn.Module, images: Tensor, labels: Tensor) -> float:
    """Return the share of images that the model classifies rightly."""
    model.eval()
    return (model(images).argmax(1) == labels).float().mean().item()


def main() -> None:
    """Train, and print engine, loss per epoch, accuracy and calls."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="npu", choices=("npu", "cpu"))
    parser.add_argument("--epochs", type=int, default=10)
    arguments = parser.parse_args()
    console = Console()
    print_engine(console, arguments.device)

    torch.manual_seed(0)
    model = make_model().to(arguments.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    train_images, train_labels, test_images, test_labels = (t.to(arguments.device) for t in load_data())

    start = time.perf_counter()
    for epoch in track(range(1, arguments.epochs + 1), description="training", console=console, transient=True):
        loss = train_epoch(model, optimizer, train_images, train_labels)
        console.print(f"epoch {epoch:2}  loss {loss:.4f}")
    console.print(f"test accuracy {accuracy(model, test_images, test_labels):.1%} after {time.perf_counter() - start:.1f} s")
    print_calls(console, arguments.device)


if __name__ == "__main__":
    main()
