"""Train one of six networks, written in plain torch.nn, for a few epochs.

python examples/train_models.py resnet                # on npu: CANN's, or the host engine
python examples/train_models.py resnet --convert      # with gradients from the package's entry points
python examples/train_models.py resnet --device cpu   # the same curve without the npu device
"""

import argparse
import time

import torch_aclnn  # before torch, for environments in which the import hook is switched off
import torch
from rich.console import Console
from rich.progress import track

from _report import print_calls, print_engine
from models.recipes import RECIPES
from models.training import train_epoch


def main() -> None:
    """Train, and print engine, loss per epoch and calls."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=RECIPES)
    parser.add_argument("--device", default="npu", choices=("npu", "cpu"))
    parser.add_argument("--convert", action="store_true", help="turn pooling, padding and batch norm into torch_aclnn.nn's")
    parser.add_argument("--epochs", type=int, default=5)
    arguments = parser.parse_args()
    console = Console()
    print_engine(console, arguments.device)

    torch.manual_seed(0)
    recipe = RECIPES[arguments.name]
    model = recipe.model().to(arguments.device)
    if arguments.convert:
        torch_aclnn.convert(model, batch_norm=True)
    inputs, targets = (t.to(arguments.device) for t in recipe.data())
    optimizer = recipe.optimizer(model.parameters())
    scheduler = recipe.scheduler(optimizer, arguments.epochs * len(inputs.split(recipe.batch_size)))
    console.print(f"{type(model).__name__} with {sum(p.numel() for p in model.parameters()):,} parameters, {len(inputs)} samples")

    start = time.perf_counter()
    for epoch in track(range(1, arguments.epochs + 1), description="training", console=console, transient=True):
        learning_rate = scheduler.get_last_lr()[0]
        loss = train_epoch(model, recipe.loss, optimizer, inputs, targets, recipe.batch_size, scheduler)
        console.print(f"epoch {epoch:2}  learning rate {learning_rate:.4f}  loss {loss:.4f}")
    console.print(f"trained in {time.perf_counter() - start:.1f} s")
    print_calls(console, arguments.device)


if __name__ == "__main__":
    main()
