"""A graph with collectives, as inference with tensor parallelism captures it."""

import torch
import torch.distributed as dist


def replayed() -> list[list[float]]:
    """Return what the replays of such a graph compute in this rank of two, the second one of other values."""
    import torch_npu  # noqa: F401

    rank = dist.get_rank()
    x, out = torch.zeros(2, device="npu"), torch.zeros(2, device="npu")
    dist.all_reduce(out)  # makes the communicator
    gathered = torch.empty(4, device="npu")
    torch.npu.synchronize()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        y = x * 2
        dist.all_reduce(y)
        dist.all_gather_into_tensor(gathered, y)
        out.copy_(gathered[:2] + 0 * gathered[2:])
    found = []
    for factor in (1, 2):
        x.copy_(torch.tensor([1.0 + rank, 3.0 + rank]) * factor)
        graph.replay()
        found.append(out.tolist())
    return found
