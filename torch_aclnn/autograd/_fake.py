"""The results under :class:`torch._subclasses.FakeTensorMode` and on ``meta``: tensors of the results' shapes and strides.

The C++ meta kernels check the arguments and know the shape. They do not see the device that a fake tensor represents, on which the
strides depend: on ``npu`` a gradient is contiguous, as torch_npu's own gradients are; elsewhere it follows the memory format of the input,
as torch's do.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch_aclnn._operators import OPERATORS


def _fake_kernel(meta: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def fake(gradient: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        result = meta(gradient, *args, **kwargs)
        return torch.empty_like(result, memory_format=torch.contiguous_format) if gradient.device.type == "npu" else result

    return fake


for _operator in OPERATORS:
    _meta = getattr(torch.ops.torch_aclnn, f"_{_operator.backward}_meta").default
    torch.library.register_fake(f"torch_aclnn::{_operator.backward}", _fake_kernel(_meta))
