"""The functions beside torch's own, for tests that hold for each of them."""

import weakref
from collections.abc import Callable, Iterable

import torch_aclnn  # noqa: F401  (it must be imported before torch)
import pytest
import torch
from torch import Tensor

from support.cases import FunctionCase
from support.marks import skipped_with
from support.operators import ROWS

CASES = tuple(row.function for row in ROWS.values())

for_each_function = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)

# torch_npu replaces that of torch, and tracing calls it.
NO_UNPOOLING_WITHOUT_DATA = ("2.10", "2.10", "max_unpool3d of torch_npu fails on meta and fake tensors")
without_data = {"max_unpool3d": skipped_with(*NO_UNPOOLING_WITHOUT_DATA)}


def _traced(cases: Iterable[FunctionCase]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", [pytest.param(case, id=case.name, marks=without_data.get(case.name, ())) for case in cases])


for_each_traced_function = _traced(CASES)

# Those in one and three dimensions differ from these in the number of dimensions only, as far as tracing and transforms go.
CASES_OF_IMAGES = tuple(case for case in CASES if not case.name.endswith(("1d", "3d")))
for_each_traced_function_of_images = _traced(CASES_OF_IMAGES)


def skip_without_forward(case: FunctionCase, device: str, dtype: torch.dtype) -> None:
    """Skip the test if torch has no forward of the function for the type on the device."""
    if device == "cpu" and dtype.itemsize == 2 and not case.half_on_cpu:
        pytest.skip("torch has no such forward")


def gradient(function: Callable[..., Tensor], x: Tensor, *others: Tensor, grad_output: Tensor | None = None) -> Tensor:
    """Return the gradient by x, of what the function gives weighted with grad_output."""
    x = x.detach().requires_grad_()
    y = function(x, *others)
    weights = y.detach().float().cos().to(y.dtype) if grad_output is None else grad_output
    return torch.autograd.grad(y, x, weights)[0]


def keeps_its_input(function: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    """Return whether autograd's graph keeps alive what the function was given."""
    given = x.detach().requires_grad_() * 1
    reference = weakref.ref(given)
    y = function(given)
    assert y.requires_grad
    del given
    return reference() is not None
