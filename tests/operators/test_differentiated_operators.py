"""Derivatives in C++: of the bare operators by finite differences, of the functions against those in Python, which torch.func takes."""

import pytest
import torch
from torch import Tensor
from torch.utils._pytree import tree_map_only
from torch_aclnn._operators import OPERATORS, Operator
from torch_aclnn.check.pairs import tiny_sample

from support.functions import for_each_function_in_turn, on_devices_in_turn
from support.marks import skip_if_torchs

for_each_operator = pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
for_each_operator_in_turn = on_devices_in_turn("operator", OPERATORS)


def operator_and_arguments(operator: Operator, device: str, dtype: torch.dtype) -> tuple:
    sample = tiny_sample(operator.name, device)
    tensors = [t.to(dtype).requires_grad_(t.numel() > 1) if t.is_floating_point() else t for t in sample.tensors]
    return getattr(torch.ops.torch_aclnn, operator.backward), (*tensors, *sample.arguments)


@pytest.mark.parametrize("check", [torch.autograd.gradcheck, torch.autograd.gradgradcheck])
@for_each_operator
def test_a_bare_operator_has_the_derivative_of_finite_differences(check, operator):
    op, arguments = operator_and_arguments(operator, "cpu", torch.float64)
    assert check(op.default, arguments, fast_mode=True)


@for_each_operator_in_turn
def test_a_bare_operator_that_writes_into_a_tensor_has_none(device, operator):
    op, arguments = operator_and_arguments(operator, device, torch.float32)
    with torch.no_grad():
        out = op.default(*arguments)
    with pytest.raises(NotImplementedError, match="out: expected no argument that requires grad"):
        op.out(*arguments, out=out)


@for_each_operator_in_turn
def test_opcheck(device, operator):
    op, arguments = operator_and_arguments(operator, device, torch.float32)
    arguments = tree_map_only(torch.Tensor, torch.Tensor.detach, arguments)
    torch.library.opcheck(op.default, arguments)
    torch.library.opcheck(op.out, arguments, {"out": torch.empty_like(op.default(*arguments))})


def derivatives_in_cpp(function, x: Tensor, weights: Tensor) -> tuple[Tensor, ...]:
    """Return the first derivative, and the gradients of its sum of squares, which are zeros for an input that it does not depend on."""
    leaves = x.clone().requires_grad_(), weights.clone().requires_grad_()
    (first,) = torch.autograd.grad(function(leaves[0]), leaves[0], leaves[1], create_graph=True)
    return first.detach(), *torch.autograd.grad(first.square().sum(), leaves, materialize_grads=True)


def derivatives_in_python(function, x: Tensor, weights: Tensor) -> tuple[Tensor, ...]:
    first = lambda x, weights: torch.func.vjp(function, x)[1](weights)[0]
    return first(x, weights), *torch.func.grad(lambda x, weights: first(x, weights).square().sum(), argnums=(0, 1))(x, weights)


@for_each_function_in_turn
def test_derivatives_in_cpp_equal_those_in_python(device, case):
    x, *others = case.inputs(device)
    function = lambda x: case.ours(x, *others)
    weights = torch.randn_like(function(x))
    for cpp, python in zip(derivatives_in_cpp(function, x, weights), derivatives_in_python(function, x, weights), strict=True):
        torch.testing.assert_close(cpp, python)


@for_each_function_in_turn
def test_the_functions_record_nodes_in_cpp(device, case):
    skip_if_torchs(case.operator, device)
    x, *others = case.inputs(device)
    node = case.ours(x.requires_grad_(), *others).grad_fn
    assert type(node).__name__ == "CppFunction"
