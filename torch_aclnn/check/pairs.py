"""Pairs of computations: one by this package, one by torch_npu alone."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch_aclnn._operators import BY_NAME
from torch_aclnn.check.families import SPECIFICATIONS
from torch_aclnn.check.samples import Sample

Call = Callable[[], Any]


def tiny_sample(name: str, device: str) -> Sample:
    """Return a call so small that its time is the overhead of reaching the operator's kernel."""
    specification = SPECIFICATIONS[name]
    return specification.sample(torch.float32, *specification.tiny).to(device)


def operator_calls(name: str) -> tuple[Call, Call | None]:
    """Return a tiny call of the bare operator on ``npu``, and one of torch's own if it has one."""
    operator, sample = BY_NAME[name], tiny_sample(name, "npu")
    ours = partial(getattr(torch.ops.torch_aclnn, operator.backward).default, *sample.tensors, *sample.arguments)
    if operator.aten_backward is None:
        return ours, None
    aten = getattr(torch.ops.aten, operator.aten_backward).default
    return ours, partial(aten, *SPECIFICATIONS[name].aten_arguments(sample))
