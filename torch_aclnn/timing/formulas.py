"""The formulas that ``costs`` in the files of csrc/vocabulary may name: operations, computed from the tensors in brackets."""

import math
from collections.abc import Callable
from typing import Any

from torch_aclnn.timing.tensors import Tensor

CUBE, ATTENTION, ATTENTION_BACKWARD, VECTOR, INDEXED = "cube", "attention", "attention_backward", "vector", "indexed"
_BACKWARD = 2.5  # five matmuls, where the forward has two
_ALL, _LEFT_UP, _RIGHT_DOWN, _BAND = 1, 2, 3, 4
_SAMPLES = 64


def _product(arguments: dict[str, Any], left: list[Tensor], right: list[Tensor], out: list[Tensor]) -> float:
    """Return the operations of a matmul, or of one for each group; any factor may be transposed."""
    lists = left, right, out
    groups = max(map(len, lists)) if all(lists) else 0
    return sum(_one_product(*(found[min(i, len(found) - 1)] for found in lists)) for i in range(groups))


def _one_product(left: Tensor, right: Tensor, out: Tensor) -> float:
    # With M K, K N and M N elements, M N K is the square root of the product of the three. Batches or groups must not count twice.
    shared = right if len(right.shape) > 2 else out if len(out.shape) > 2 and len(left.shape) == 2 else None
    batch = max(math.prod(shared.shape[:-2]), 1) if shared else 1
    return 2.0 * math.sqrt(left.elements * right.elements * out.elements / batch)


def _linear(arguments: dict[str, Any], rows: list[Tensor], *weights: list[Tensor]) -> float:
    """Return the operations of rows, each of which is multiplied by one group of each weight."""
    groups = [max(len(found), found[0].shape[0] if len(found[0].shape) > 2 else 1) for found in weights if found]
    sizes = [sum(tensor.elements for tensor in found) for found in weights if found]
    return 2.0 * sum(tensor.rows for tensor in rows) * sum(size / count for size, count in zip(sizes, groups, strict=True))


def _taps(arguments: dict[str, Any], rows: list[Tensor], *weights: list[Tensor]) -> float:
    """Return the operations of rows, each of which is multiplied by the whole of each weight."""
    return 2.0 * sum(tensor.rows for tensor in rows) * sum(tensor.elements for found in weights for tensor in found)


def _convolution(arguments: dict[str, Any], image: list[Tensor], weight: list[Tensor], out: list[Tensor]) -> float:
    positions = image if arguments.get("transposed") else out
    if not weight or not positions or not weight[0].elements:
        return 0.0
    directions = sum(map(bool, arguments.get("outputMask", [True])[:2]))
    return 2.0 * positions[0].elements * weight[0].elements / weight[0].shape[0] * directions


def _attention(arguments: dict[str, Any], query: list[Tensor], key: list[Tensor], *others: list[Tensor]) -> float:
    """Return the operations of the pairs within the mask: scores by query and key, and then the values, if there are any."""
    if not key:
        return 0.0
    heads = arguments.get("headNum") or arguments.get("numHeads") or 0
    batch, length, key_length, width, heads = _sizes(_layout(arguments), query[0], key[0], heads)
    of_values = sum(width * other[0].elements / max(key[0].elements, 1) for other in others[:1] if other)
    of_positions = sum(other[0].width for other in others[1:] if other)  # the rotary parts, if they are separate tensors
    band = (arguments.get("sparseMode", 0), arguments.get("preTokens", 1 << 31), arguments.get("nextTokens", 1 << 31))
    pairs = batch * visible_pairs(length, key_length, *band)
    queries, keys = _lengths(arguments, "actualSeqQLen", "actualSeqLengths"), _lengths(arguments, "actualSeqKvLen", "actualSeqLengthsKv")
    if _layout(arguments).startswith("TND") and queries and keys:
        pairs = sum(visible_pairs(q, k, *band) for q, k in zip(queries, keys, strict=False))
    return 2.0 * heads * pairs * (width + of_positions + of_values)


def visible_pairs(queries: int, keys: int, mode: int, before: int, after: int) -> float:
    """Return the pairs within the band of ``sparseMode``, ``preTokens`` and ``nextTokens``; blocks outside it are not computed."""
    if mode == _ALL or queries <= 0 or keys <= 0:
        return float(max(queries, 0) * max(keys, 0))
    shift = keys - queries if mode in (_RIGHT_DOWN, _BAND) else 0
    if mode in (_LEFT_UP, _RIGHT_DOWN):
        before, after = 1 << 31, 0
    step = max(queries // _SAMPLES, 1)
    rows = range(step // 2, queries, step)
    seen = (min(keys - 1, row + shift + after) - max(0, row + shift - before) + 1 for row in rows)
    return sum(max(0, row) for row in seen) * queries / len(rows)


def _selected(arguments: dict[str, Any], query: list[Tensor], value: list[Tensor], indices: list[Tensor], *rope: list[Tensor]) -> float:
    """Return the operations of attention to the keys that indices name for each row of the query."""
    if not value or not indices:
        return 0.0
    keys = indices[0].width * (arguments.get("sparseBlockSize") or arguments.get("selectBlockSize") or 1)
    return 2.0 * query[0].rows * keys * (query[0].width + value[0].width + sum(part[0].width for part in rope if part))


def _layout(arguments: dict[str, Any]) -> str:
    return str(next((arguments[key] for key in ("inputLayout", "layoutQuery", "layout", "qInputLayout") if key in arguments), "BSH"))


def _sizes(layout: str, query: Tensor, key: Tensor, heads: int) -> tuple[int, int, int, float, int]:
    """Return batch, lengths of queries and keys, the width of a head and the number of heads."""
    if layout.startswith("TND"):
        return 1, query.shape[0], key.shape[0], query.width, query.shape[1]
    at = dict(zip(layout, query.shape, strict=False))
    heads = at.get("N", heads or 1)
    width = at["D"] if "D" in at else at.get("H", 0) / heads
    return at.get("B", 1), at.get("S", 1), dict(zip(layout, key.shape, strict=False)).get("S", 1), width, heads


def _lengths(arguments: dict[str, Any], *names: str) -> list[int]:
    """Return the lengths of packed sequences, of which the arguments have the ends."""
    ends = next((found for name in names if isinstance(found := arguments.get(name), list)), [])
    return [end - begin for begin, end in zip([0, *ends], ends, strict=False)]


def _elements(arguments: dict[str, Any], index: list[Tensor]) -> float:
    """Return how many elements are found one by one."""
    return float(sum(tensor.elements for tensor in index))


def _times(formula: Callable[..., float], factor: float) -> Callable[..., float]:
    return lambda *given: factor * formula(*given)


FORMULAS: dict[str, tuple[str, Callable[..., float]]] = {
    "product": (CUBE, _product),
    "linear": (CUBE, _linear),
    "linear_backward": (CUBE, _times(_linear, 2.0)),
    "taps": (CUBE, _taps),
    "taps_backward": (CUBE, _times(_taps, 2.0)),
    "convolution": (CUBE, _convolution),
    "elements": (INDEXED, _elements),
    "attention": (ATTENTION, _attention),
    "attention_backward": (ATTENTION_BACKWARD, _times(_attention, _BACKWARD)),
    "selected": (ATTENTION, _selected),
    "selected_backward": (ATTENTION_BACKWARD, _times(_selected, _BACKWARD)),
}
