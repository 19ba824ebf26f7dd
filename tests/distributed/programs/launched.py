"""One of several processes, which a launcher started: two steps with DistributedDataParallel. The first rank prints the outcome.

Without a launcher it starts two processes itself. With "killed" rank 1 ends between the steps, unless it has been restarted.
"""

import json
import os
import signal
import socket
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing
from sockets import listening_addresses
from torch.nn.parallel import DistributedDataParallel


def run() -> None:
    local = int(os.environ["LOCAL_RANK"])
    torch.npu.set_device(local)
    dist.init_process_group("hccl")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(3, 2).npu(), device_ids=[local])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        inputs = torch.randn(4 * size, 3)
        model(inputs[4 * rank : 4 * rank + 4].npu()).square().mean().backward()
        optimizer.step()
        if sys.argv[1:] == ["killed"] and rank == 1 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
            os.kill(os.getpid(), signal.SIGKILL)
    weights = [torch.empty_like(model.module.weight) for _ in range(size)]
    dist.all_gather(weights, model.module.weight.detach())
    dist.barrier()
    if rank == 0:
        equal = all(torch.equal(weights[0], other) for other in weights)
        restarts = os.environ.get("TORCHELASTIC_RESTART_COUNT")
        print(json.dumps({"ranks": size, "equal": equal, "restarts": restarts, "addresses": listening_addresses()}))
    dist.destroy_process_group()


def spawned(rank: int, port: int) -> None:
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    run()


if __name__ == "__main__":
    if "RANK" in os.environ:
        run()
    else:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        torch.multiprocessing.spawn(spawned, (port,), nprocs=2)
