"""Checks of the arguments that the functions share. The messages name the function, the parameter, what was expected and what came."""

import contextlib
import math
import operator
from collections.abc import Iterable
from typing import Any, NoReturn

import torch
from torch_aclnn import _C
from torch import Tensor
from torch.autograd import forward_ad
from torch_aclnn._operators import BY_NAME
from torch_aclnn.autograd._function import of_name
from torch_aclnn.functional._shards import is_sharded, on_shards

# torch keeps the arguments of poolings in 32 bits, and sizes in 64.
MAX_INT32 = 2**31 - 1
MAX_INT64 = 2**63 - 1


def refuse(function: str, parameter: str, expected: str, got: object) -> NoReturn:
    """Raise the ValueError that every function raises for a bad value."""
    raise ValueError(f"{function}: {parameter}: expected {expected}, got {got}")


def tensor(function: str, parameter: str, value: object, ranks: tuple[int, ...]) -> Tensor:
    """Return the value if it is a tensor of one of the ranks."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{function}: {parameter}: expected a Tensor, got {type(value).__name__}")
    if value.dim() not in ranks:
        refuse(function, parameter, f"{' or '.join(map(str, ranks))} dimensions", f"shape {tuple(value.shape)}")
    return value


def floating(function: str, parameter: str, value: object) -> Tensor:
    """Return the value if it is a tensor of a floating-point dtype."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{function}: {parameter}: expected a Tensor, got {type(value).__name__}")
    if not value.is_floating_point():
        raise TypeError(f"{function}: {parameter}: expected a floating-point dtype, got {value.dtype}")
    return value


def not_integral(function: str, parameter: str, value: Tensor) -> None:
    """Refuse a tensor of integers or booleans, which torch would refuse later or with another operator's message."""
    if not (value.is_floating_point() or value.is_complex() or value.is_quantized):
        raise TypeError(f"{function}: {parameter}: expected a floating-point dtype, got {value.dtype}")


def same_device(function: str, parameter: str, value: Tensor, input: Tensor) -> None:
    """Refuse a tensor on another device than the input, if both are on ``npu`` or ``cpu``; torch refuses those on other devices."""
    if value.device != input.device and {value.device.type, input.device.type} <= {"npu", "cpu"}:
        refuse(function, parameter, f"device {input.device} like input", value.device)


def _is_boolean(value: object) -> bool:
    """Return whether the value is a bool of Python's or numpy's."""
    return isinstance(value, bool) or str(getattr(value, "dtype", None)) == "bool"


def boolean(function: str, parameter: str, value: object) -> bool:
    """Return a boolean of Python's or numpy's as Python's, which torch's own functions require."""
    if not _is_boolean(value):
        raise TypeError(f"{function}: {parameter}: expected a bool, got {value!r}")
    return bool(value)


def integer(function: str, parameter: str, value: Any) -> int:
    """Return what torch accepts as an integer, those of numpy included, as an int; refuse booleans and characters."""
    if type(value) is int or isinstance(value, torch.SymInt):
        return value  # type: ignore[return-value]
    if not _is_boolean(value):  # numpy's booleans before 2.3 have __index__
        with contextlib.suppress(TypeError):
            return operator.index(value)
    raise TypeError(f"{function}: {parameter}: expected integers, got {value!r}")


def number(function: str, parameter: str, value: object) -> None:
    """Refuse what torch does not accept as a number; numpy's numbers and tensors without dimensions are accepted."""
    # Under torch.compile the test would make a graph for each value of a number.
    if not torch.compiler.is_compiling() and not hasattr(value, "__float__"):
        raise TypeError(f"{function}: {parameter}: expected a number, got {value!r}")


def listed(value: object) -> tuple[Any, ...] | None:
    """Return the elements of any kind of list, or None for other values, as a text or an array without dimensions."""
    is_list = isinstance(value, Iterable) and not isinstance(value, (str, bytes, bytearray)) and getattr(value, "ndim", 1) > 0
    return tuple(value) if is_list else None  # type: ignore[arg-type]


def ints(function: str, parameter: str, value: object, count: int, lowest: int | None = None, highest: int = MAX_INT32) -> tuple[int, ...]:
    """Return the value as `count` integers from `lowest` to `highest`; one integer applies to all."""
    values = (value,) if type(value) is int else listed(value)
    if values is None:
        values = (value,)
    if len(values) == 1:
        values *= count
    if len(values) != count:
        refuse(function, parameter, "one integer" if count == 1 else f"one integer or {count}", value)
    result = tuple(v if type(v) is int else integer(function, parameter, v) for v in values)
    for v in result:
        if lowest is not None and v < lowest:
            refuse(function, parameter, f"values of at least {lowest}", value)
        if type(v) is int and v > highest:  # comparing a symbolic size would put a condition on the graph
            refuse(function, parameter, f"values of at most {highest}", value)
    return result


def windows(
    function: str, input: Tensor, dims: int, kernel_size: object, stride: object, padding: object, ceil_mode: bool
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return a pooling's window, stride and padding; refuse a window that does not fit into the padded input."""
    kernel = ints(function, "kernel_size", kernel_size, dims, lowest=1)
    step = kernel if stride is None or listed(stride) == () else ints(function, "stride", stride, dims, lowest=1)
    pad = ints(function, "padding", padding, dims, lowest=0)
    if any(p > k // 2 for p, k in zip(pad, kernel, strict=True)):
        refuse(function, "padding", f"at most half of kernel_size {kernel}", padding)
    for size, window, s, p in zip(input.shape[-dims:], kernel, step, pad, strict=True):
        # With ceil_mode a last, partial window may begin one stride further. Torch requires that a volume without padding holds a window.
        more = 0 if dims == 3 else 2 * p + (s - 1 if ceil_mode else 0)
        if size + more < window:
            within = f"input {tuple(input.shape)}" if dims == 3 else f"input {tuple(input.shape)} and padding {pad}"
            refuse(function, "kernel_size", f"a window within {within}", kernel_size)
    return kernel, step, pad


def adaptive_size(function: str, input: Tensor, dims: int, output_size: object) -> tuple[int, ...]:
    """Return the size to which a pooling adapts, where None is the input's own."""
    not_integral(function, "input", input)
    asked = listed(output_size)
    asked = (output_size,) * dims if asked is None else asked
    if len(asked) != dims:
        refuse(function, "output_size", "one integer" if dims == 1 else f"one integer or {dims}", output_size)
    sizes = [size if want is None else want for want, size in zip(asked, input.shape[-dims:], strict=True)]
    return ints(function, "output_size", sizes, dims, lowest=0, highest=MAX_INT64)


def edge_padding(function: str, parameter: str, value: object, input: Tensor, dims: int) -> tuple[int, ...]:
    """Return (left, right, top, ...); refuse a padding that leaves no element, or makes sizes that overflow."""
    pad = ints(function, parameter, value, 2 * dims, lowest=-(2**61), highest=2**61)
    sizes = list(input.shape)
    for side, more in enumerate(pad):
        sizes[-1 - side // 2] += more
    if any(size < 1 for size in sizes[-dims:]):
        refuse(function, parameter, f"a padded size of at least 1 for input {tuple(input.shape)}", value)
    # Sizes with small paddings cannot overflow; a comparison of symbolic sizes would become a condition on a compiled graph.
    is_huge = any(type(p) is int and p > MAX_INT32 for p in pad)
    if is_huge and math.prod(sizes) * input.itemsize > MAX_INT64:
        refuse(function, parameter, f"a result of at most {MAX_INT64} bytes for input {tuple(input.shape)}", value)
    return pad


def run(name: str, within_limits: bool, tensors: tuple[Tensor, ...], *arguments: Any) -> Tensor:
    """Call the function on the operator of that name, or torch's own function if the operator cannot be used."""
    operator = BY_NAME[name]
    function = of_name(operator.forward_class)
    chosen = function.call if is_ours(name, within_limits, *tensors) else function.forward
    if any(is_sharded(t) for t in tensors):
        return on_shards(chosen, operator.dims, tensors, *arguments)
    return chosen(*tensors, *arguments)


def is_offered(name: str) -> bool:
    """Return whether the product in use has the operator's entry point."""
    return _C.is_offered(name)


# The compiler cannot look into _C, and calls this while it traces. torch.compiler.assume_constant_result does the same, but imports the
# compiler here.
is_offered._dynamo_marked_constant = True  # type: ignore[attr-defined]


def is_ours(name: str, within_limits: bool, *tensors: Tensor | None) -> bool:
    """Return whether an operator can be used.

    It can within the limits of its document, on ``cpu`` and on ``npu`` where the product offers its entry point, and without forward-mode
    derivatives. What :func:`torch.jit.trace` records is torch's too: it gets saved, or exported to ONNX, and runs where this package may
    not be. So is what :func:`torch.func.functionalize` rewrites, which takes no ``torch.autograd.Function``.
    """
    devices = {t.device.type for t in tensors if t is not None}
    has_kernels = within_limits and devices <= {"npu", "cpu"} and ("npu" not in devices or is_offered(name))
    return has_kernels and is_for_functions()


def is_for_functions() -> bool:
    """Return whether torch is in none of the modes in which it refuses a ``torch.autograd.Function``."""
    if forward_ad._current_level >= 0 or torch.jit.is_tracing():  # type: ignore[attr-defined]
        return False
    if torch.compiler.is_compiling() or not torch._C._are_functorch_transforms_active():
        return True
    functorch = torch._C._functorch
    levels = functorch.get_interpreter_stack() or ()
    return all(level.key() != functorch.TransformType.Functionalize for level in levels)
