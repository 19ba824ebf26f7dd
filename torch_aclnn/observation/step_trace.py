"""The trace of one step, for an estimate of its time."""

from typing import Any

import torch
from torch import distributed
from torch_aclnn.host.registry import host_runtime
from torch_aclnn.observation.equal_ranks import pipeline_ranks


def resume(lines: bool) -> None:
    """Resume the engine's trace, or pause it."""
    host_runtime().torchAclnnHostResumeTrace(int(lines))


def groups() -> dict[str, list[int]]:
    """Return the ranks of each communicator of torch's process groups, by its name, and those of the pipeline as ``"pipeline"``."""
    if not distributed.is_available() or not distributed.is_initialized():
        return {}
    # The pipeline is listed too, because its messages may go over communicators of two ranks, which do not show the number of stages.
    found = {"pipeline": pipeline_ranks()}
    for group, ranks in list(distributed.distributed_c10d._world.pg_group_ranks.items()):
        try:
            backend: Any = group._get_backend(torch.device("npu"))
            own = distributed.get_group_rank(group, distributed.get_rank())
            found[backend.get_hccl_comm_name(own, init_comm=False)] = sorted(ranks, key=lambda rank: ranks[rank])
        except (RuntimeError, TypeError, AttributeError):  # raised for a group without this rank, of another backend, or not used yet
            continue
    return found
