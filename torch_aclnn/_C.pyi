"""The kernels of torch.ops.torch_aclnn; importing the module registers them."""

from collections.abc import Callable
from typing import Any

def isa() -> str:
    """Name the instruction set of the kernels: scalar, baseline, avx2 or avx512."""

def last_loop() -> str:
    """Name the loop of this thread's last call of a kernel of pooling or padding; none before the first."""

def is_offered(operator: str, /) -> bool:
    """Return whether the product behind ``npu`` has the operator's entry point; the device must have been initialised."""

class Node:
    """The type of each ``grad_fn`` in C++ whose class is not registered with torch, those of this package among them."""

# Limits of the documents, which torch's functions do not have.
MAX_DIVISOR_OF_AVG_POOL2D: int
MAX_CHANNELS_OF_AVG_POOL2D: int

# The functions of torch_aclnn.functional in eager code, for the usual arguments by position; they return NotImplemented for any others.
def batch_norm(
    input: object,
    running_mean: object,
    running_var: object,
    weight: object,
    bias: object,
    training: object,
    momentum: object,
    eps: object,
    /,
) -> Any: ...
def __getattr__(name: str) -> Callable[..., Any]:
    """Return the function of an operator on planes (csrc/contract/operators.h); :func:`batch_norm` is that of batch norm."""
