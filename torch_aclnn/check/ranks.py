"""Synchronised batch norm between two processes, each with a device, by HCCL."""

import tempfile
from datetime import timedelta

import torch
import torch_npu
from torch import Tensor, distributed, nn
from torch.multiprocessing.spawn import spawn
from torch_aclnn.check import error
from torch_aclnn.check.judgement import ALLOWED
from torch_aclnn.check.records import NOT_OFFERED, PASSED, Check
from torch_aclnn.check.samples import random

_RANKS = 2
_LIMIT = timedelta(seconds=60)
_SHAPE = (4, 3, 5, 6)


def collective(mode: int) -> Check:
    """Compare what two ranks compute with batch norm of the joint batch on the CPU in float64; a rank that differs raises.

    Another check tests the layer's exactness. This one tests the exchange, an error of which is larger than op-plugin's tests allow.
    """
    if torch_npu.npu.device_count() < _RANKS:
        return Check("collective", "batch_norm_elemt", NOT_OFFERED, mode, case="two ranks, HCCL", message="one device")
    with tempfile.TemporaryDirectory() as directory:
        spawn(_compute, (f"file://{directory}/meeting",), nprocs=_RANKS)
    return Check("collective", "batch_norm_elemt", PASSED, mode, "float32", case="two ranks, HCCL")


def _compute(rank: int, meeting: str) -> None:
    from torch_aclnn.nn import SyncBatchNorm

    torch_npu.npu.set_device(rank)
    distributed.init_process_group("hccl", init_method=meeting, rank=rank, world_size=_RANKS, timeout=_LIMIT)
    try:
        x, gradient = random(_SHAPE, torch.float32) * 3 + 2, random((*_SHAPE, 1), torch.float32)[..., 0]
        exact = _run(nn.BatchNorm2d(_SHAPE[1]).double(), x.double(), gradient.double())
        parts = (t.chunk(_RANKS)[rank] for t in (x, gradient))
        found = _run(SyncBatchNorm(_SHAPE[1]).to("npu"), *(part.to("npu") for part in parts))
        for what, result, expected in zip(("output", "gradient"), found, exact, strict=True):
            share = error.share_of_largest(result, expected.chunk(_RANKS)[rank])
            if not share <= ALLOWED[torch.float32]:
                raise ArithmeticError(f"rank {rank}: the {what} is wrong by {share:.2g} of its largest value")
    finally:
        distributed.destroy_process_group()


def _run(layer: nn.Module, x: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    x.requires_grad_()
    output = layer(x)
    output.backward(gradient)
    assert x.grad is not None
    return output.detach().cpu(), x.grad.cpu()
