"""Functions on rows that are by the operator of images: values, derivatives, modules and conversion."""

from dataclasses import dataclass

import torch_aclnn
import pytest
import torch
from torch import Tensor, nn
from torch_aclnn._operators import OPERATORS


@dataclass(frozen=True)
class RowCase:
    """Calls of a function and of its module, with what stands before `keywords`: a pooling's indices."""

    name: str
    module: str
    calls: tuple[tuple[tuple, dict], ...]
    bad: tuple[tuple, type[Exception], str]

    def inputs(self, device: str, dtype=torch.float32) -> tuple[Tensor, ...]:
        if self.name != "max_unpool1d":
            return (torch.randn(2, 3, 9, device=device, dtype=dtype),)
        pooled, indices = nn.functional.max_pool1d(torch.rand(2, 3, 9), 2, return_indices=True)
        return pooled.to(device, dtype), indices.to(device)

    def of(self, library):
        """Return torch_aclnn's function, or torch's."""
        if library is torch_aclnn or "pad" not in self.name:
            return getattr(library.functional if library is torch_aclnn else nn.functional, self.name)
        return lambda x, padding: nn.functional.pad(x, padding if isinstance(padding, tuple) else (padding,) * 2, mode="circular")


REFUSED = ValueError, "padding: expected"
CASES = (
    RowCase(
        "avg_pool1d",
        "AvgPool1d",
        (((3,), {}), ((4, 2, 1), {"ceil_mode": True, "count_include_pad": False}), (([2], [3]), {})),
        ((2, 2, 2), *REFUSED),
    ),
    RowCase(
        "adaptive_avg_pool1d", "AdaptiveAvgPool1d", (((4,), {}), ((12,), {}), ((1,), {})), ((-1,), ValueError, "output_size: expected")
    ),
    RowCase("circular_pad1d", "CircularPad1d", ((((2, 3),), {}), ((1,), {}), (((9, 0),), {})), (((1, 2, 3),), *REFUSED)),
    RowCase("max_unpool1d", "MaxUnpool1d", (((2,), {}), ((2, 2, 0), {"output_size": (2, 3, 9)})), ((2, 2, -1), *REFUSED)),
)
for_each = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def test_each_function_of_rows_by_another_operator_is_here():
    assert {case.name for case in CASES} == {name for operator in OPERATORS if operator.dims for name in operator.functions[1:]}
    assert {case.module for case in CASES} == {name for operator in OPERATORS if operator.dims for name in operator.modules[1:]}


@for_each
def test_result_and_gradient_are_those_of_torch(device, case):
    for arguments, keywords in case.calls:
        x, *others = case.inputs("cpu")
        found = []
        for library, where in ((torch_aclnn, device), (torch, "cpu")):
            leaf = x.to(where).requires_grad_()
            y = case.of(library)(leaf, *(t.to(where) for t in others), *arguments, **keywords)
            (gradient,) = torch.autograd.grad(y, leaf, y.detach().sin())
            found.append((y.detach().cpu(), gradient.cpu()))
        torch.testing.assert_close(*found)


@for_each
def test_one_sample_is_one_of_a_batch(device, case):
    arguments, _ = case.calls[0]
    inputs = case.inputs(device)
    alone = case.of(torch_aclnn)(*(t[1] for t in inputs), *arguments)
    assert torch.equal(alone, case.of(torch_aclnn)(*inputs, *arguments)[1])


@for_each
def test_derivatives_are_those_of_finite_differences(case):
    x, *others = case.inputs("cpu", torch.float64)
    for arguments, keywords in case.calls:
        fn = lambda x: case.of(torch_aclnn)(x, *others, *arguments, **keywords)  # noqa: B023
        assert torch.autograd.gradcheck(fn, x.requires_grad_()) and torch.autograd.gradgradcheck(fn, x)


@for_each
def test_the_gradient_is_by_the_operator_of_images(case):
    y = case.of(torch_aclnn)(case.inputs("cpu")[0].requires_grad_(), *case.inputs("cpu")[1:], *case.calls[0][0])
    node = y.grad_fn.next_functions[0][0]
    assert node.name().endswith("2dBackward")


@for_each
def test_a_bad_argument_is_refused_by_name(device, case):
    arguments, error, words = case.bad
    with pytest.raises(error, match=f"{case.name}: {words}"):
        case.of(torch_aclnn)(*case.inputs(device), *arguments)


@for_each
def test_a_converted_module_has_the_repr_and_results_of_torch(device, case):
    arguments, _ = case.calls[0]
    theirs = getattr(nn, case.module)(*arguments)
    ours = torch_aclnn.convert(getattr(nn, case.module)(*arguments))
    assert type(ours) is getattr(torch_aclnn.nn, case.module) and repr(ours) == repr(theirs)
    inputs = case.inputs("cpu")
    torch.testing.assert_close(ours(*(t.to(device) for t in inputs)).cpu(), theirs(*inputs))
    assert type(torch_aclnn.revert(ours)) is type(theirs)
