"""Train the network of train_digits.py with as many processes as torchrun starts: DistributedDataParallel and synchronised batch norm.

torchrun --nproc-per-node=2 examples/train_digits_ddp.py                # on npu, over hccl
torchrun --nproc-per-node=2 examples/train_digits_ddp.py --device cpu   # the same curve over gloo

The processes share the batches, so that the curve does not depend on how many there are.
"""

import argparse
import os
import time

import torch_aclnn  # before torch, for environments in which the import hook is switched off
import torch
import torch.distributed as dist
from rich.console import Console
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DistributedSampler

from _report import print_calls, print_engine
from models.data import digits
from models.training import train_epoch
from train_digits import TRAINED, accuracy, make_model

BATCH = 100  # images of all processes together


def read_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="npu", choices=("npu", "cpu"))
    parser.add_argument("--epochs", type=int, default=10)
    arguments = parser.parse_args()
    ranks = int(os.environ.get("WORLD_SIZE", 0))
    if ranks == 0:
        parser.error("start it with torchrun --nproc-per-node=2")
    if BATCH % ranks:
        parser.error(f"expected a number of processes that divides the batch of {BATCH}, got {ranks}")
    return arguments


def train(device: str, epochs: int, console: Console) -> None:
    """Train, and print engine, loss per epoch over all processes, accuracy and this process's calls."""
    console.print(f"{dist.get_world_size()} processes over {dist.get_backend()}")
    print_engine(console, device)
    torch.manual_seed(0)
    model = DistributedDataParallel(torch_aclnn.nn.SyncBatchNorm.convert_sync_batchnorm(make_model()).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    images, labels = (t.to(device) for t in digits())
    sampler = DistributedSampler(range(TRAINED), seed=0)

    start = time.perf_counter()
    for epoch in range(1, epochs + 1):
        sampler.set_epoch(epoch)
        own = torch.tensor(list(sampler), device=device)
        batch = BATCH // dist.get_world_size()
        loss = torch.tensor(train_epoch(model, nn.functional.cross_entropy, optimizer, images[own], labels[own], batch), device=device)
        dist.all_reduce(loss)
        console.print(f"epoch {epoch:2}  loss {loss.item() / dist.get_world_size():.6f}")
    # The bare module is called, because DistributedDataParallel's forward would wait for the other processes.
    share = accuracy(model.module, images[TRAINED:], labels[TRAINED:])
    console.print(f"test accuracy {share:.1%} after {time.perf_counter() - start:.1f} s")
    print_calls(console, device)


def main() -> None:
    """Join the process group, train, and leave it."""
    arguments = read_arguments()
    if arguments.device == "npu":
        torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("hccl" if arguments.device == "npu" else "gloo")
    try:
        train(arguments.device, arguments.epochs, Console(quiet=dist.get_rank() != 0))
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
