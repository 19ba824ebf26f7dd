"""Train a small CNN on scikit-learn's handwritten digits; the gradients of padding, pooling and batch norm come from aclnn entry points.

python examples/train_digits.py                # on npu: CANN's, or the host engine
python examples/train_digits.py --device cpu   # the same curve without the npu device
"""

import argparse
import time

import torch_aclnn  # before torch, for environments in which the import hook is switched off
import torch
from rich.console import Console
from rich.progress import track
from torch import Tensor, nn

from _report import print_calls, print_engine
from models.data import digits
from models.training import train_epoch

TRAINED = 1400  # of 1797 images; the others are for the test


def make_model() -> nn.Module:
    """Return a network for 8x8 images of one channel and ten classes."""
    return nn.Sequential(
        torch_aclnn.nn.ReplicationPad2d(1),
        nn.Conv2d(1, 32, 3),
        torch_aclnn.nn.BatchNorm2d(32),
        nn.ReLU(),
        torch_aclnn.nn.AvgPool2d(2),
        torch_aclnn.nn.ReplicationPad2d(1),
        nn.Conv2d(32, 64, 3),
        torch_aclnn.nn.BatchNorm2d(64),
        nn.ReLU(),
        torch_aclnn.nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(256, 10),
    )


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
    images, labels = (t.to(arguments.device) for t in digits())

    start = time.perf_counter()
    for epoch in track(range(1, arguments.epochs + 1), description="training", console=console, transient=True):
        loss = train_epoch(model, nn.functional.cross_entropy, optimizer, images[:TRAINED], labels[:TRAINED], batch_size=100)
        console.print(f"epoch {epoch:2}  loss {loss:.4f}")
    console.print(f"test accuracy {accuracy(model, images[TRAINED:], labels[TRAINED:]):.1%} after {time.perf_counter() - start:.1f} s")
    print_calls(console, arguments.device)


if __name__ == "__main__":
    main()
