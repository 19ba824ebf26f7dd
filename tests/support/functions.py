"""The functions beside torch's own, for tests that hold for each of them."""

import itertools
import weakref
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import torch_aclnn  # noqa: F401  (it must be imported before torch)
import pytest
import torch
from torch import Tensor

from support.cases import FunctionCase
from support.marks import skipped_with
from support.operators import ROWS

CASES = tuple(row.function for row in ROWS.values())
DEVICES = ("cpu", "npu")

for_each_function = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
# Cases in one and three dimensions differ from those of images only in the number of dimensions, for tracing and transforms.
CASES_OF_IMAGES = tuple(case for case in CASES if not case.name.endswith(("1d", "3d")))


def on_devices_in_turn(
    names: str, *axes: Iterable[Any], marks: Mapping[str, pytest.MarkDecorator] = MappingProxyType({})
) -> pytest.MarkDecorator:
    """Parametrise by each combination of the axes' values on one device, for what every device shares; each value meets both in turn.

    Nodes, Functions, checks and tracing are above the dispatch by device, and one of each is made for all functions of a family. Batch norm
    meets both each time, as its forward is another one on npu.
    """
    rows = []
    for places in itertools.product(*(enumerate(axis) for axis in axes)):
        values = [value for _, value in places]
        ids = [getattr(value, "name", getattr(value, "__name__", str(value))) for value in values]
        for device in DEVICES if ids[0].startswith("batch_norm") else (DEVICES[sum(place for place, _ in places) % 2],):
            rows.append(pytest.param(*values, device, id="-".join([*ids, device]), marks=marks.get(ids[0], ())))
    return pytest.mark.parametrize((*names.split(", "), "device"), rows)


for_each_function_in_turn = on_devices_in_turn("case", CASES)
for_each_function_of_images_in_turn = on_devices_in_turn("case", CASES_OF_IMAGES)

# torch_npu replaces torch's function, and tracing calls the replacement.
NO_UNPOOLING_WITHOUT_DATA = ("2.10", "2.10", "max_unpool3d of torch_npu fails on meta and fake tensors")
without_data = {"max_unpool3d": skipped_with(*NO_UNPOOLING_WITHOUT_DATA)}
for_each_traced_function_in_turn = on_devices_in_turn("case", CASES, marks=without_data)


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
