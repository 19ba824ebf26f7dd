"""Train a model of your own with mixed precision and activation checkpointing, save it, and go on from the file on any device.

python examples/resume_training.py --file digits.pt                # on npu: trains two epochs and saves
python examples/resume_training.py --file digits.pt --device cpu   # goes on from there, also where torch_npu is not installed

It is plain PyTorch: put your model and your data in place of Model and digits().
"""

import argparse
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from models.data import digits

# CPUs compute bfloat16 faster than float16; on npu float16 is the half type that every product has.
HALF = {"npu": torch.float16, "cpu": torch.bfloat16}


class Model(nn.Module):
    """Your model: two blocks whose activations are not kept for the backward, but computed again."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2))
        self.second = nn.Sequential(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Dropout(0.1), nn.AdaptiveAvgPool2d(2))
        self.head = nn.Linear(128, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Return the scores of ten classes."""
        x = checkpoint(self.first, x, use_reentrant=False)
        x = checkpoint(self.second, x, use_reentrant=False)
        return self.head(x.flatten(1))


def main() -> None:
    """Load what the file has, train, and save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", type=Path, required=True)
    parser.add_argument("--device", default="npu", choices=HALF)
    parser.add_argument("--epochs", type=int, default=2)
    arguments = parser.parse_args()
    device = arguments.device

    torch.manual_seed(0)
    model = Model().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler(device)
    trained = 0
    if arguments.file.exists():
        # Without map_location a tensor is put on the device that it was saved from, which may not exist here.
        state = torch.load(arguments.file, map_location=device)
        for part, name in ((model, "model"), (optimizer, "optimizer"), (scaler, "scaler")):
            part.load_state_dict(state[name])
        trained = state["epochs"]

    images, labels = (t.to(device) for t in digits())
    for epoch in range(trained + 1, trained + arguments.epochs + 1):
        total = 0.0
        for x, y in zip(images.split(100), labels.split(100), strict=True):
            optimizer.zero_grad()
            with torch.autocast(device, HALF[device]):
                loss = nn.functional.cross_entropy(model(x), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            total += loss.item() * len(x)
        print(f"epoch {epoch:2} on {device}  loss {total / len(images):.4f}")
    if device == "npu":
        print(f"highest use of memory: {torch.npu.max_memory_allocated() / 2**20:.1f} MiB")
    torch.save(
        {
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "scaler": scaler.state_dict(),
            "epochs": trained + arguments.epochs,
        },
        arguments.file,
    )


if __name__ == "__main__":
    main()
