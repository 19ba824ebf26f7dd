"""Pairs of computations: one by this package, one by torch_npu alone."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch_aclnn._operators import BY_NAME
from torch_aclnn.check.families import SPECIFICATIONS
from torch_aclnn.check.samples import Sample

Call = Callable[[], Any]


def tiny_sample(name: str, device: str, batch: int = 1) -> Sample:
    """Return a call so small that nothing counts but the way to the operator's kernel; calls of different batches have different shapes."""
    specification = SPECIFICATIONS[name]
    size, *arguments = specification.tiny
    return specification.sample(torch.float32, (batch, *size[1:]), *arguments).to(device)


def operator_calls(name: str, batch: int = 1) -> tuple[Call, Call | None]:
    """Return a tiny call of the bare operator on ``npu``, and one of torch's own if it has one."""
    operator, sample = BY_NAME[name], tiny_sample(name, "npu", batch)
    ours = partial(getattr(torch.ops.torch_aclnn, operator.backward).default, *sample.tensors, *sample.arguments)
    if operator.aten_backward is None:
        return ours, None
    aten = getattr(torch.ops.aten, operator.aten_backward).default
    return ours, partial(aten, *SPECIFICATIONS[name].aten_arguments(sample))
