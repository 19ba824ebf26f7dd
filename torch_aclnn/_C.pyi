"""The kernels of torch.ops.torch_aclnn; importing the module registers them."""

from typing import Any, Protocol

def isa() -> str:
    """Name the instruction set of the kernels: scalar, baseline, avx2 or avx512."""

def last_loop() -> str:
    """Name the loop of this thread's last call of a kernel of pooling or padding; none before the first."""

def is_offered(operator: str, /) -> bool:
    """Return whether the product behind ``npu`` has the operator's entry point; the device must have been initialised."""

class Node:
    """The type of a ``grad_fn`` that is written in C++ and of which torch was not told: those of this package, and others' too."""

# Limits of the documents, which torch's functions do not have.
MAX_DIVISOR_OF_AVG_POOL2D: int
MAX_CHANNELS_OF_AVG_POOL2D: int

# The functions of torch_aclnn.functional for the usual arguments in eager code, by position; NotImplemented for any others.
class _AvgPool(Protocol):
    def __call__(
        self,
        input: object,
        kernel_size: object,
        stride: object,
        padding: object,
        ceil_mode: object,
        count_include_pad: object,
        divisor_override: object,
        /,
    ) -> Any: ...

class _AdaptiveAvgPool(Protocol):
    def __call__(self, input: object, output_size: object, /) -> Any: ...

class _Pad(Protocol):
    def __call__(self, input: object, padding: object, /) -> Any: ...

class _MaxUnpool(Protocol):
    def __call__(
        self, input: object, indices: object, kernel_size: object, stride: object, padding: object, output_size: object, /
    ) -> Any: ...

avg_pool2d: _AvgPool
avg_pool3d: _AvgPool
adaptive_avg_pool2d: _AdaptiveAvgPool
adaptive_avg_pool3d: _AdaptiveAvgPool
replication_pad1d: _Pad
replication_pad2d: _Pad
replication_pad3d: _Pad
reflection_pad1d: _Pad
reflection_pad2d: _Pad
reflection_pad3d: _Pad
circular_pad2d: _Pad
circular_pad3d: _Pad
max_unpool2d: _MaxUnpool
max_unpool3d: _MaxUnpool

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
