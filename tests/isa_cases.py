"""Results of all kernels on awkward inputs, to be compared between instruction sets; run as ``python isa_cases.py FILE``."""

import sys
from collections.abc import Iterator

import torch_aclnn  # noqa: F401  (it must be imported before torch)
import torch
from torch import Tensor

from layouts import LAYOUTS

ops = torch.ops.torch_aclnn
FLOATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
# (H, W), kernel, stride, padding, ceil_mode: each way to sum columns, with and without overlap, gaps and uncovered borders.
POOLINGS = (
    ((7, 9), (3, 3), (1, 1), (1, 1), False),
    ((9, 35), (5, 2), (2, 1), (2, 0), False),
    ((17, 13), (3, 3), (2, 2), (1, 1), True),
    ((8, 40), (2, 2), (2, 2), (0, 0), False),
    ((9, 31), (1, 1), (2, 2), (0, 0), False),
    ((11, 20), (5, 5), (3, 3), (2, 2), False),
    ((12, 26), (4, 7), (5, 3), (0, 3), True),
    ((20, 45), (7, 20), (7, 1), (3, 10), False),
    ((6, 70), (3, 8), (2, 4), (1, 4), False),
)
ADAPTIVE = (((7, 7), (1, 1)), ((14, 14), (7, 7)), ((56, 23), (6, 5)), ((3, 4), (7, 9)), ((13, 33), (13, 11)), ((8, 100), (1, 3)))
PADDINGS = ((1, 1, 1, 1), (3, 0, 0, 5), (9, 8, 7, 6), (-1, 2, -2, 1), (0, 0, 0, 0), (-2, -3, 0, 0))


def values(*shape: int, dtype: torch.dtype, seed: int = 0) -> Tensor:
    """Numbers of many sizes, with infinities, nan, zeros of both signs and subnormals among them."""
    generator = torch.Generator().manual_seed(seed)
    real = torch.randn(shape, generator=generator, dtype=torch.float64)
    real *= torch.exp2(torch.randint(-6, 7, shape, generator=generator))
    flat = real.view(-1)
    for i, special in enumerate((0.0, -0.0, float("inf"), float("nan"), -float("inf"), 1e-40, -3e-7, 65504.0)):
        flat[i * 31 % max(1, flat.numel())] = special
    return torch.complex(real, real.flip(-1)).to(dtype) if dtype.is_complex else real.to(dtype)


def poolings(layout, dtype) -> Iterator[Tensor]:
    for (h, w), kernel, stride, padding, ceil_mode in POOLINGS:
        for include, divisor in ((True, None), (False, None), (True, -3)):
            arguments = (kernel, stride, padding, ceil_mode, include, divisor)
            shape = torch.nn.functional.avg_pool2d(torch.empty(2, 5, h, w), *arguments).shape
            yield ops.avg_pool2d_backward(layout(values(*shape, dtype=dtype)), (2, 5, h, w), *arguments)
    for (h, w), (out_h, out_w) in ADAPTIVE:
        yield ops.adaptive_avg_pool2d_backward(layout(values(2, 19, out_h, out_w, dtype=dtype)), (2, 19, h, w))


def paddings(layout, dtype) -> Iterator[Tensor]:
    for left, right, top, bottom in PADDINGS:
        grad = layout(values(2, 5, 6 + top + bottom, 37 + left + right, dtype=dtype))
        yield ops.replication_pad2d_backward(grad, (2, 5, 6, 37), (left, right, top, bottom))


def unpoolings(layout, dtype) -> Iterator[Tensor]:
    grad = values(2, 3, 4, 6, 10, dtype=torch.float64).nan_to_num().clamp(-100, 100).to(dtype)
    indices = torch.randint(0, 240, (2, 3, 2, 3, 70), generator=torch.Generator().manual_seed(1))
    yield ops.max_unpool3d_backward(layout(grad), layout(indices), (4, 6, 10), (2, 2, 2), (0, 0, 0))


def batch_norms(layout, dtype) -> Iterator[Tensor]:
    for shape in ((3, 5, 7, 49), (4, 33), (2, 3, 2, 1500)):
        for other in (dtype, torch.float32):
            grad, x = layout(values(*shape, dtype=other)), layout(values(*shape, dtype=dtype, seed=1))
            channel = [torch.rand(shape[1], generator=torch.Generator().manual_seed(s)) for s in range(5)]
            yield ops.batch_norm_elemt_backward(grad, x, *channel, torch.tensor([7, 8], dtype=torch.int32))


def results() -> Iterator[Tensor]:
    """Everything, for each layout and dtype."""
    for layout in LAYOUTS:
        for dtype in FLOATS:
            yield from poolings(layout, dtype)
            yield from batch_norms(layout, dtype)
        for dtype in (*FLOATS, torch.complex64, torch.complex128):
            yield from paddings(layout, dtype)
        for dtype in (*FLOATS, torch.int8, torch.int64):
            yield from unpoolings(layout, dtype)


if __name__ == "__main__":
    torch.set_num_threads(int(sys.argv[2]))
    torch.save([result.contiguous() for result in results()], sys.argv[1])
