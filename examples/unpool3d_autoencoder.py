"""Train an autoencoder that shrinks volumes with MaxPool3d and grows them with MaxUnpool3d, whose gradient is aclnnMaxUnpool3dBackward.

python examples/unpool3d_autoencoder.py                # on npu: CANN's, or the host engine
python examples/unpool3d_autoencoder.py --device cpu   # the same curve without the npu device
"""

import argparse
import time

import torch_aclnn  # before torch: it decides which libraries answer on the npu device
import torch
from rich.console import Console
from rich.progress import track
from torch import Tensor, nn

from _report import print_calls, print_engine


class Autoencoder(nn.Module):
    """Two poolings down and two unpoolings up; the indices carry where each maximum was."""

    def __init__(self) -> None:
        super().__init__()
        self.encode1, self.encode2 = nn.Conv3d(1, 8, 3, padding=1), nn.Conv3d(8, 16, 3, padding=1)
        self.decode2, self.decode1 = nn.Conv3d(16, 8, 3, padding=1), nn.Conv3d(8, 1, 3, padding=1)
        self.pool, self.unpool = nn.MaxPool3d(2, return_indices=True), torch_aclnn.nn.MaxUnpool3d(2)

    def forward(self, x: Tensor) -> Tensor:
        """Reconstruct volumes (N, 1, D, H, W)."""
        x, where1 = self.pool(self.encode1(x).relu())
        x, where2 = self.pool(self.encode2(x).relu())
        x = self.decode2(self.unpool(x, where2)).relu()
        return self.decode1(self.unpool(x, where1))


def make_volumes(count: int, size: int = 16) -> Tensor:
    """Return volumes (count, 1, size, size, size), each with a smooth ball of its own place and radius."""
    generator = torch.Generator().manual_seed(0)
    axis = torch.arange(size, dtype=torch.float32)
    grid = torch.stack(torch.meshgrid(axis, axis, axis, indexing="ij"))
    centres = size * (0.3 + 0.4 * torch.rand(count, 3, 1, 1, 1, generator=generator))
    radii = size * (0.1 + 0.2 * torch.rand(count, 1, 1, 1, generator=generator))
    return torch.sigmoid(radii - (grid - centres).norm(dim=1)).unsqueeze(1)


def main() -> None:
    """Train, and print engine, loss per epoch and calls."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="npu", choices=("npu", "cpu"))
    parser.add_argument("--epochs", type=int, default=8)
    arguments = parser.parse_args()
    console = Console()
    print_engine(console, arguments.device)

    torch.manual_seed(0)
    model = Autoencoder().to(arguments.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    volumes = make_volumes(64).to(arguments.device)

    start = time.perf_counter()
    for epoch in track(range(1, arguments.epochs + 1), description="training", console=console, transient=True):
        total = torch.zeros((), device=arguments.device)
        for batch in volumes.split(16):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(batch), batch)
            loss.backward()
            optimizer.step()
            total += loss.detach() * len(batch)
        console.print(f"epoch {epoch:2}  reconstruction error {(total / len(volumes)).item():.5f}")
    console.print(f"trained in {time.perf_counter() - start:.1f} s")
    print_calls(console, arguments.device)


if __name__ == "__main__":
    main()
