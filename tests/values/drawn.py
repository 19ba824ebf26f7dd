"""Calls drawn for phase 1 to take: a sound call of an entry point in other shapes, data types, layouts and attributes."""

import ctypes
import math
import re
from random import Random
from typing import Any

from arguments import BoolArray, IntArray, Scalar
from hostile_calls.call import Call
from hostile_calls.changes import packed
from hostile_calls.drawn import WHOLE, with_sizes
from sound_calls import misshapen, sound_arguments, sound_value, typed
from torch_aclnn.host.registry import EntryPoint, Parameter

from support.dtypes import COMPLEX_TYPES, FLOATING_TYPES, DType
from support.tensors import Tensor

from . import attention

UNSIGNED = (DType.UINT8, DType.UINT16, DType.UINT32, DType.UINT64, DType.BOOL)
SIZES = (1, 2, 3, 4, 5, 7)
RANKS = (0, 1, 1, 2, 3, 3, 4, 5, 8)
NUMBERS = (0.5, 1.0, 2.0, 3.0, -1.0, 0.25, -2.0, 0.0)
SHARE = re.compile(r"beta|momentum|dampening|decay", re.I)  # parameters that weigh two numbers
RESULT = re.compile(r"out|grad(Input|In)|^y$|result", re.I)
LARGEST = 600  # elements of a tensor
# Parameters that are as in the sound call; "shapes" are those of all tensors, and what says them again.
KEPT = {
    "aclnnCrossEntropyLoss": "returnZloss lseSquareScaleForZloss zlossOut lseForZlossOut",
    "aclnnAscendQuant": "dstType",
    "aclnnClippedSwiglu": "groupIndex",
    "aclnnMoeGatingTopKSoftmax": "finished",
    "aclnnRingAttentionUpdate": "inputLayout actualSeqQlenOptional",
    "aclnnTransposeBatchMatMul": "scale bias batchSplitFactor permX1 permX2 permY",
    **dict.fromkeys(("aclnnGroupedBiasAddGrad", "aclnnGroupedBiasAddGradV2"), "groupIdx"),
    **dict.fromkeys(("aclnnConvolution", "aclnnConvolutionBackward", "aclnnGroupNorm", "aclnnGroupNormBackward"), "shapes"),
    **dict.fromkeys(("aclnnScatterNdUpdate", "aclnnGatherNd", "aclnnLayerNormBackward"), "shapes"),
}


def _sized(*shape: int) -> dict[str, Any]:
    return {"shape": shape, "strides": None, "offset": 0}


def drawn(entry_point: EntryPoint, rng: Random) -> Call:
    """Return a call that phase 1 may still refuse."""
    if attention.NAMES.fullmatch(entry_point.name):
        return _laid_out(attention.drawn(entry_point, rng), rng)
    call, kept = Call(entry_point, dict(sound_arguments(entry_point))), KEPT.get(entry_point.name, "").split()
    free = [parameter for parameter in entry_point.parameters if parameter.name not in kept]
    for parameter in free:
        if call.arguments[parameter.name] is None and rng.random() < 0.3:
            given = sound_value(entry_point, parameter.name)
            call.arguments[parameter.name] = typed(entry_point, parameter, given, call.arguments)
    if "shapes" not in kept:
        _reshape(call, rng)
    _retype(call, rng)
    first = next(iter(call.tensors().values()), Tensor(()))
    call.arguments |= {parameter.name: _attribute(rng, parameter, call.arguments[parameter.name], first) for parameter in free}
    for parameter in entry_point.parameters:
        if parameter.kind == "Packed":
            call.arguments[parameter.name] = call.arguments[parameter.name].but(**_sized(8 * LARGEST))
        if parameter.kind == "DType" and "out" in call.arguments:
            call.arguments[parameter.name] = ctypes.c_int(call.arguments["out"].dtype)
    return _laid_out(call, rng)


def _laid_out(call: Call, rng: Random) -> Call:
    for place, tensor in call.tensors().items():
        if rng.random() < 0.3 and tensor.storage is None and math.prod(tensor.shape) <= 4 * LARGEST:
            order = rng.sample(range(len(tensor.shape)), len(tensor.shape))
            call.replace(place, tensor.laid_out(order=order, step=rng.choice((1, 1, 2, 3)), offset=rng.choice((0, 1, 5))))
    return call


def _attribute(rng: Random, parameter: Parameter, value: Any, first: Tensor) -> Any:
    rank, (kind, _, values) = len(first.shape), parameter.kind.partition(" in ")
    if kind == "Dim":
        return ctypes.c_int64(rng.randrange(-max(rank, 1), max(rank, 1)))
    if kind == "Dims" and rank:
        return IntArray(tuple(rng.sample(range(rank), rng.randrange(rank + 1))))
    if window := re.match(r"(Opt)?Steps|Pads|PositiveSizes", kind):
        return IntArray(tuple(rng.choice((0, 1) if window[0] == "Pads" else (1, 1, 2, 3)) for _ in value.values))
    if isinstance(value, Scalar) and value.dtype in set(DType):
        whole = first.dtype not in FLOATING_TYPES + COMPLEX_TYPES and rng.random() < 0.7
        dtype, number = DType.INT64 if whole else rng.choice((value.dtype, DType.FLOAT)), rng.choice(NUMBERS)
        number = abs(number) if first.dtype in UNSIGNED else number  # torch wraps negative ones
        return Scalar(dtype, packed(dtype, number).ljust(16, b"\0")) if rng.random() < 0.9 or whole else value
    if isinstance(value, BoolArray):
        return BoolArray(tuple(rng.random() < 0.7 for _ in value.values))
    if values:
        choices = _choices(values) if isinstance(value, (ctypes.c_int64, ctypes.c_char_p)) else []
        return type(value)(rng.choice(choices)) if choices else value
    if isinstance(value, ctypes.c_bool):
        return ctypes.c_bool(rng.random() < 0.5)
    if isinstance(value, (ctypes.c_double, ctypes.c_float)):
        return type(value)(rng.choice((0.5, 0.25) if SHARE.search(parameter.name) else (0.5, 1.0, 0.25, 2.0)))
    if kind in ("Int", "NotNegative", "Positive") and rng.random() < 0.3:
        return type(value)(value.value + rng.choice((-1, 1, 2)))
    return value


def _choices(values: str) -> list[Any]:
    # What a record lists, or the numbers of a short range.
    lowest, dots, highest = values.partition("..")
    if dots:
        return list(range(int(lowest), int(highest) + 1)) if highest and int(highest) < 10 else []
    choices = [choice.strip('"') for choice in values.split("|")]
    return list(map(int, choices)) if all(re.fullmatch(r"-?\d+", one) for one in choices) else [one.encode() for one in choices]


def _reshape(call: Call, rng: Random) -> None:
    how = rng.random()
    if how < 0.45:
        sizes = {2: rng.choice((*SIZES, 0))} | ({4: rng.choice(SIZES)} if rng.random() < 0.5 else {})
        in_arrays = rng.random() < 0.5
        call.arguments.update({name: with_sizes(value, sizes, in_arrays) for name, value in call.arguments.items()})
    elif how < 0.9:
        shape = tuple(rng.choice(SIZES if rng.random() < 0.95 else (0,)) for _ in range(rng.choice(RANKS)))
        while math.prod(shape) > LARGEST:
            shape = tuple(size // 2 + 1 for size in shape[:-1])
        call.arguments.update({name: IntArray(shape) for name, value in call.arguments.items() if value == IntArray((2, 2))})
        for place, tensor in call.tensors().items():
            own = shape[rng.choice((0, 0, 0, 1, len(shape))) if how > 0.75 else 0 :]
            own = tuple(1 if how > 0.75 and rng.random() < 0.2 else size for size in own)
            if tensor.shape == (2, 2):
                call.replace(place, tensor.but(shape=own))


def _retype(call: Call, rng: Random) -> None:
    tensors, types = call.tensors(), sorted(call.entry_point.data_types & set(DType))
    if not tensors or not types or rng.random() < 0.25:
        return
    first, other = next(iter(tensors.values())).dtype, rng.choice(types)
    for place, tensor in tensors.items():
        if tensor.dtype == first and not (WHOLE.search(place.parameter) and first == DType.INT64):
            call.replace(place, tensor.but(dtype=other))


def fit(call: Call, message: str) -> bool:
    """Give the tensor that phase 1 refuses the shape that it expects, or results a data type that holds them."""
    if "can't be cast" in message:
        outs = {place: tensor for place, tensor in call.tensors().items() if RESULT.search(place.parameter) and tensor.dtype != DType.FLOAT}
        for place, tensor in outs.items():
            call.replace(place, tensor.but(dtype=DType.FLOAT))
        return bool(outs)
    refused = misshapen(message)
    for place, tensor in call.tensors().items() if refused and math.prod(refused.expected) <= 4 * LARGEST else ():
        if refused and (place.parameter, tensor.shape) == refused[:2]:
            call.replace(place, tensor.but(**_sized(*refused.expected)))
            return True
    return False
