"""The five results by their definitions, in float64 and without any of the engine's code."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from host.opapi.client import DType, pack

Shape = tuple[int, ...]
HALF_TYPES = (DType.FLOAT16, DType.BF16)


def planes(shape: Shape, dims: int) -> range:
    return range(math.prod(shape[:-dims]))


def cells(height: int, width: int) -> Iterator[tuple[int, int]]:
    return ((h, w) for h in range(height) for w in range(width))


def avg_pool2d_backward(
    grad: Sequence[float],
    grad_shape: Shape,
    shape: Shape,
    kernel: tuple[int, int],
    stride: tuple[int, int],
    padding: tuple[int, int],
    count_include_pad: bool,
    divisor_override: int,
) -> list[float]:
    (out_h, out_w), (height, width) = grad_shape[-2:], shape[-2:]
    result = [0.0] * math.prod(shape)
    for plane in planes(shape, 2):
        for oh, ow in cells(out_h, out_w):
            top, left = oh * stride[0] - padding[0], ow * stride[1] - padding[1]
            bottom, right = min(top + kernel[0], height + padding[0]), min(left + kernel[1], width + padding[1])
            pool = (bottom - top) * (right - left)
            rows, columns = range(max(top, 0), min(bottom, height)), range(max(left, 0), min(right, width))
            divisor = divisor_override or (pool if count_include_pad else len(rows) * len(columns))
            for h in rows:
                for w in columns:
                    result[(plane * height + h) * width + w] += grad[(plane * out_h + oh) * out_w + ow] / divisor
    return result


def adaptive_avg_pool2d_backward(grad: Sequence[float], grad_shape: Shape, shape: Shape) -> list[float]:
    (out_h, out_w), (height, width) = grad_shape[-2:], shape[-2:]
    result = [0.0] * math.prod(shape)
    for plane in planes(shape, 2):
        for oh, ow in cells(out_h, out_w):
            rows = range(math.floor(oh * height / out_h), math.ceil((oh + 1) * height / out_h))
            columns = range(math.floor(ow * width / out_w), math.ceil((ow + 1) * width / out_w))
            for h in rows:
                for w in columns:
                    share = grad[(plane * out_h + oh) * out_w + ow] / (len(rows) * len(columns))
                    result[(plane * height + h) * width + w] += share
    return result


def replication_pad2d_backward(grad: Sequence[Any], grad_shape: Shape, shape: Shape, padding: tuple[int, int, int, int]) -> list[Any]:
    (out_h, out_w), (height, width) = grad_shape[-2:], shape[-2:]
    left, _, top, _ = padding
    result = [0.0] * math.prod(shape)
    for plane in planes(shape, 2):
        for i, j in cells(out_h, out_w):
            h, w = min(max(i - top, 0), height - 1), min(max(j - left, 0), width - 1)
            result[(plane * height + h) * width + w] += grad[(plane * out_h + i) * out_w + j]
    return result


def max_unpool3d_backward(grad: Sequence[Any], grad_shape: Shape, indices: Sequence[int], shape: Shape) -> list[Any]:
    volume, cell_count = math.prod(grad_shape[-3:]), math.prod(shape[-3:])
    return [grad[position // cell_count * volume + index] if 0 <= index < volume else 0 for position, index in enumerate(indices)]


def batch_norm_elemt_backward(
    grad: Sequence[float],
    data: Sequence[float],
    shape: Shape,
    channels: dict[str, Sequence[float]],
    counter: Sequence[float],
) -> list[float]:
    n, inner = sum(counter), math.prod(shape[2:])
    result = []
    for position, (dy, x) in enumerate(zip(grad, data, strict=True)):
        c = position // inner % shape[1]
        mean, invstd, weight, sum_dy, sum_dy_xmu = (channels[k][c] for k in ("mean", "invstd", "weight", "sumDy", "sumDyXmu"))
        result.append(((dy - sum_dy / n) - (x - mean) * invstd**2 * sum_dy_xmu / n) * invstd * weight)
    return result


def ordinal(element: bytes) -> int:
    """Number the floating-point values of a type in their order, so that neighbours differ by 1."""
    bits, sign = int.from_bytes(element, "little"), 1 << (8 * len(element) - 1)
    return -(bits - sign) if bits & sign else bits


def assert_close(elements: Sequence[bytes], expected: Sequence[Any], dtype: DType) -> None:
    """Compare with the exact results: half types to 1 unit in the last place, wider ones to 4, integers exactly."""
    assert len(elements) == len(expected)
    parts = 2 if dtype in (DType.COMPLEX64, DType.COMPLEX128) else 1
    floating = parts == 2 or dtype in (DType.FLOAT, DType.DOUBLE, *HALF_TYPES)
    allowed = (1 if dtype in HALF_TYPES else 4) if floating else 0
    for position, (element, value) in enumerate(zip(elements, expected, strict=True)):
        exact, size = pack(dtype, value), len(element) // parts
        for part in range(0, len(element), size):
            distance = abs(ordinal(element[part : part + size]) - ordinal(exact[part : part + size]))
            assert distance <= allowed, f"element {position}: {element.hex()} is {distance} units from {exact.hex()}"
