"""What a launch has to do: floating-point operations, bytes, and the unit that does it, by the entry point's own shapes."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from torch_aclnn.timing.visible import visible_pairs

CUBE, ATTENTION, ATTENTION_BACKWARD, VECTOR = "cube", "attention", "attention_backward", "vector"

_BYTES = {
    **dict.fromkeys(("DOUBLE", "INT64", "UINT64", "COMPLEX64"), 8.0),
    **dict.fromkeys(("FLOAT", "INT32", "UINT32"), 4.0),
    **dict.fromkeys(("FLOAT16", "BF16", "INT16", "UINT16"), 2.0),
    **dict.fromkeys(("INT4", "FLOAT4_E2M1", "FLOAT4_E1M2"), 0.5),
    "COMPLEX128": 16.0,
}
_RATES = {"FLOAT16": "float16", "FLOAT": "float32", "INT8": "int8", "INT4": "int8"}
_PRODUCT = re.compile(r"aclnn\w*(Mm|MM|Matmul|MatMul|Addmm|Addbmm|Baddbmm|Addmv|Mv|Linear)(?![a-z])")
_ATTENTION = re.compile(r"aclnn\w*(FlashAttention|FusedInferAttention|IncreFlashAttention|PromptFlashAttention)\w*")
_CONVOLUTION = re.compile(r"aclnn(Quant)?Conv\w*")
_LEFT = ("mat1", "batch1", "x1", "x", "self", "input")
_RIGHT = ("mat2", "batch2", "x2", "weight", "vec2", "vec")
_ONLY_WRITES = re.compile(r"aclnnInplace(Copy|Zero|One|Fill\w*|Uniform|Normal|Random|Bernoulli)")


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of a launch."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def elements(self) -> int:
        """How many there are."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> float:
        """What they take."""
        return self.elements * _BYTES.get(self.dtype, 1.0)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a launch has to do.

    Attributes:
        unit: ``"cube"``, ``"attention"``, ``"attention_backward"`` or ``"vector"``.
        flops: floating-point operations of the cube.
        bytes: read and written.
        rate: the key of the chip's ``cube_tflops``.
        by_default: whether nothing but the bytes is known.

    """

    unit: str
    flops: float
    bytes: float
    rate: str
    by_default: bool


def cost_of(name: str, arguments: dict[str, Any]) -> Cost:
    """Return what a launch of the entry point has to do, by the arguments of its first phase."""
    named = {key: list(tensors_of(value)) for key, value in arguments.items()}
    tensors = {key: found for key, found in named.items() if found}
    moved = sum(tensor.bytes for found in tensors.values() for tensor in found)
    if _ATTENTION.fullmatch(name):
        unit = ATTENTION_BACKWARD if "Grad" in name else ATTENTION
        flops = _attention(arguments, tensors, 2.5 if "Grad" in name else 1.0)
    elif _CONVOLUTION.fullmatch(name):
        unit, flops = CUBE, _convolution(arguments, tensors)
    else:
        unit, flops = CUBE, _products(tensors) if _PRODUCT.match(name) else 0.0
    if flops:
        return Cost(unit, flops, moved, _rate(tensors), False)
    first = next(iter(tensors.values()), [])
    if name.startswith("aclnnInplace") and not _ONLY_WRITES.fullmatch(name):
        moved += sum(tensor.bytes for tensor in first)
    return Cost(VECTOR, 0.0, moved, "float32", not _is_elementwise(tensors))


def tensors_of(value: Any) -> Iterator[Tensor]:
    """Yield the tensors of an argument, which may be a list."""
    if isinstance(value, dict) and "shape" in value:
        yield Tensor(tuple(value["shape"]), value["dtype"])
    elif isinstance(value, list):
        for one in value:
            if isinstance(one, dict):
                yield from tensors_of(one)


def _rate(tensors: dict[str, list[Tensor]]) -> str:
    dtype = next(iter(tensors.values()))[0].dtype
    for key in (*_LEFT, "query"):
        if key in tensors:
            dtype = tensors[key][0].dtype
            break
    return (
        "float8" if dtype.startswith(("FLOAT8", "HIFLOAT8")) else "float4" if dtype.startswith("FLOAT4") else _RATES.get(dtype, "bfloat16")
    )


def _products(tensors: dict[str, list[Tensor]]) -> float:
    """Return the operations of a product, whatever is transposed: M K, K N and M N elements have M N K as the root of their product."""
    left = next((tensors[key] for key in _LEFT if key in tensors), [])
    right = next((tensors[key] for key in _RIGHT if key in tensors and tensors[key] is not left), [])
    out = [found for key, found in tensors.items() if key.lower() in ("out", "y", "output", "outref", "selfref") or key.endswith("Out")]
    if not (left and right and out):
        return 0.0
    groups = max(len(left), len(right), len(out[0]))
    return sum(_product(*(found[min(i, len(found) - 1)] for found in (left, right, out[0]))) for i in range(groups))


def _product(left: Tensor, right: Tensor, out: Tensor) -> float:
    # The batches of a batched product, or the groups of a grouped one, would count twice.
    shared = right if len(right.shape) > 2 else out if len(out.shape) > 2 and len(left.shape) == 2 else None
    batch = max(math.prod(shared.shape[:-2]), 1) if shared else 1
    return 2.0 * math.sqrt(left.elements * right.elements * out.elements / batch)


def _convolution(arguments: dict[str, Any], tensors: dict[str, list[Tensor]]) -> float:
    weight = tensors.get("weight", [None])[0]
    if weight is None or not weight.elements:
        return 0.0
    positions = tensors.get("gradOutput") or tensors.get("output") or tensors.get("out") or []
    if arguments.get("transposed"):
        positions = tensors.get("input", [])
    if not positions:
        return 0.0
    directions = sum(map(bool, arguments.get("outputMask", [True])[:2]))
    return 2.0 * positions[0].elements * weight.elements / weight.shape[0] * directions


def _attention(arguments: dict[str, Any], tensors: dict[str, list[Tensor]], times: float) -> float:
    if not {"query", "key", "value"} <= tensors.keys():
        return 0.0
    query, key, value = (tensors[name][0] for name in ("query", "key", "value"))
    heads = arguments.get("headNum") or arguments.get("numHeads") or arguments.get("numHeadsOptional") or 1
    layout = str(arguments.get("inputLayout", "BSH"))
    batch, length, key_length, width = _sizes(layout, query, key, heads)
    value_width = width * value.elements / max(key.elements, 1)
    lengths: list[Any] = [arguments.get(f"actualSeq{which}Optional") or arguments.get(f"actualSeq{which}") for which in ("QLen", "KvLen")]
    band = (arguments.get("sparseMode", 0), arguments.get("preTokens", 1 << 31), arguments.get("nextTokens", 1 << 31))
    pairs = batch * visible_pairs(length, key_length, *band)
    if layout.startswith("TND") and all(isinstance(ends, list) for ends in lengths):
        pairs = sum(visible_pairs(q, k, *band) for q, k in zip(_each(lengths[0]), _each(lengths[1]), strict=False))
    return 2.0 * heads * pairs * (width + value_width) * times


def _sizes(layout: str, query: Tensor, key: Tensor, heads: int) -> tuple[int, int, int, float]:
    """Return batch, lengths of queries and keys, and the width of a head."""
    if layout.startswith("TND"):
        return 1, query.shape[0], key.shape[0], query.shape[-1]
    at = dict(zip(layout, query.shape, strict=False))
    length = dict(zip(layout, key.shape, strict=False)).get("S", 1)
    return at.get("B", 1), at.get("S", 1), length, at["D"] if "D" in at else at.get("H", 0) / heads


def _each(ends: list[int]) -> list[int]:
    return [end - begin for begin, end in zip([0, *ends], ends, strict=False)]


def _is_elementwise(tensors: dict[str, list[Tensor]]) -> bool:
    """Return whether most tensors have one size, so that the bytes are what the launch takes its time for."""
    sizes = [tensor.elements for found in tensors.values() for tensor in found]
    return not sizes or sizes.count(max(sizes)) * 2 >= len(sizes)
