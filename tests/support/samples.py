"""Tensors for tests of every operator, and hypothesis' strategies of arguments."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from support.lazy import strategies as st
from support.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

Draw = Callable[[Any], Any]


def awkward_values(*shape: int, dtype: Any, seed: int = 0) -> "Tensor":
    """Numbers of many sizes, with infinities, nan, zeros of both signs and subnormals among them."""
    generator = torch.Generator().manual_seed(seed)
    real = torch.randn(shape, generator=generator, dtype=torch.float64)
    real *= torch.exp2(torch.randint(-6, 7, shape, generator=generator))
    flat = real.view(-1)
    for i, special in enumerate((0.0, -0.0, float("inf"), float("nan"), -float("inf"), 1e-40, -3e-7, 65504.0)):
        flat[i * 31 % max(1, flat.numel())] = special
    return torch.complex(real, real.flip(-1)).to(dtype) if dtype.is_complex else real.to(dtype)


def bits(tensor: "Tensor") -> "Tensor":
    """Return integers that are equal if the elements are the same bit by bit, except that one nan is like another."""
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    if not tensor.is_floating_point():
        return tensor
    integers = {2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()]
    return torch.where(tensor.isnan(), 0, tensor.view(integers))


def draw_dtype(draw: Draw) -> Any:
    """Draw a dtype that most documents list, or int32, which no floating operator takes."""
    return draw(st.sampled_from([torch.float32, torch.float32, torch.float16, torch.bfloat16, torch.int32]))


def draw_tensor(draw: Draw, shape: Any, dtype: Any) -> "Tensor":
    """Draw a tensor of nearly always this shape and dtype, in some layout."""
    from support.layouts import LAYOUTS

    shape = list(shape)
    if draw(st.integers(0, 15)) == 7:
        d = draw(st.integers(0, len(shape) - 1))
        shape[d : d + 1] = draw(st.sampled_from([[], [shape[d] + 1], [shape[d], 1]]))
    tensor = torch.ones(shape).to(dtype)
    return draw(st.sampled_from(LAYOUTS))(tensor) if tensor.dim() > 3 else tensor


def draw_planes(draw: Draw) -> list[int]:
    """Draw the dimensions before the planes: batch and channels, or channels alone."""
    rank = draw(st.integers(1, 2))
    return [draw(st.integers(0, 2)), draw(st.integers(1, 3))][-rank:]


def draw_size(draw: Draw) -> int:
    return draw(st.integers(1, 6))


def sizes_to_pool(dims: int) -> tuple[tuple[int, ...], ...]:
    """Return sizes of inputs, which differ in all but the channels; the last has no two equal ones."""
    return tuple((batch, 3, *plane[-dims:]) for batch, plane in ((2, (4, 8, 6)), (4, (5, 9, 7)), (5, (4, 12, 10))))
