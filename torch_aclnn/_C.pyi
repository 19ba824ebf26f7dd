"""The kernels of torch.ops.torch_aclnn; importing the module registers them."""

from typing import Any

def isa() -> str:
    """Name the instruction set of the kernels: scalar, baseline, avx2 or avx512."""

def is_offered(operator: str, /) -> bool:
    """Return whether the product behind ``npu`` has the operator's entry point; the device must have been initialised."""

# The functions of torch_aclnn.functional for the usual arguments in eager code, by position; NotImplemented for any others.
def avg_pool2d(
    input: object,
    kernel_size: object,
    stride: object,
    padding: object,
    ceil_mode: object,
    count_include_pad: object,
    divisor_override: object,
    /,
) -> Any: ...
def adaptive_avg_pool2d(input: object, output_size: object, /) -> Any: ...
def adaptive_avg_pool3d(input: object, output_size: object, /) -> Any: ...
def replication_pad2d(input: object, padding: object, /) -> Any: ...
def reflection_pad2d(input: object, padding: object, /) -> Any: ...
def max_unpool3d(input: object, indices: object, kernel_size: object, stride: object, padding: object, output_size: object, /) -> Any: ...
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
