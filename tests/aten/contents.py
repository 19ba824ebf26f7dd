"""What the tensors of a sound call hold before it, and its outputs as tensors that equal no input."""

from typing import Any

from arguments import TensorList
from torch_aclnn.host.registry import EntryPoint
from unrefused import may_be_left

from support.dtypes import DType, size_of
from support.tensors import Tensor

ONE = {DType.FLOAT: b"\0\0\x80\x3f", DType.FLOAT16: b"\0\x3c", DType.BF16: b"\x80\x3f"}
HALF = {DType.FLOAT: b"\0\0\0\x3f", DType.FLOAT16: b"\0\x38", DType.BF16: b"\0\x3f"}

# Integers in tensors that the other arguments must fit.
_NUMBERS = {"repeats": 1, "epSendCounts": 4, "expertTokenNumPerRank": 1, "eplbTable": 1, "routingMap": 1, "roundMode": 1}


def plain_outputs(entry_point: EntryPoint, sound: dict[str, Any]) -> dict[str, Tensor]:
    """Return the outputs that are written whole, each with an offset of its own, so that it equals no input."""
    written = [p.name for p in entry_point.parameters if p.kind == "Out" and not may_be_left(entry_point.name, p.name)]
    return {name: sound[name].but(offset=i + 1, strides=sound[name].real_strides()) for i, name in enumerate(written)}


def contents(arguments: dict[str, Any], outputs: dict[str, Tensor], values: dict[int, bytes], fill: bytes = b"\0") -> dict[Tensor, bytes]:
    """Return what each element of a tensor is: of inputs the value of their data type, else 0, and of outputs the byte."""
    inputs = [v for argument in arguments.values() for v in (argument.members if isinstance(argument, TensorList) else (argument,))]
    full_of = {tensor: values.get(tensor.dtype, bytes(size_of(tensor.dtype))) for tensor in inputs if isinstance(tensor, Tensor)}
    for name, number in _NUMBERS.items():
        if isinstance(arguments.get(name), Tensor):
            full_of |= {arguments[name]: number.to_bytes(size_of(arguments[name].dtype), "little")}
    return full_of | {tensor: fill * size_of(tensor.dtype) for tensor in outputs.values()}
