"""Calls on tiny tensors, ours and torch's (on npu: torch_npu's) for the same thing."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch_aclnn._operators import OPERATORS, Operator
from torch_aclnn.check.families import SPECIFICATIONS
from torch_aclnn.check.pairs import tiny_sample
from torch_aclnn.check.samples import Sample

from benchmarks.aten import into
from benchmarks.operators import MODULES

Pair = tuple[Callable[[], Any], Callable[[], Any]]


def operator_pairs(device: str) -> dict[str, Pair]:
    """Return calls of the bare operators: a new result, one given by `out`, and both by the forward's input in place of its size."""
    return {name: pair for operator in OPERATORS for name, pair in _operator_pairs(operator, tiny_sample(operator.name, device)).items()}


def _operator_pairs(operator: Operator, sample: Sample) -> dict[str, Pair]:
    ours, arguments = getattr(torch.ops.torch_aclnn, operator.backward), (*sample.tensors, *sample.arguments)
    if operator.aten_backward:
        theirs, their_arguments = getattr(torch.ops.aten, operator.aten_backward), SPECIFICATIONS[operator.name].aten_arguments(sample)
        peer = ""
    else:
        theirs, their_arguments = MODULES[operator.name].peer(sample)
        peer = f" ({theirs.__name__})"
    out = torch.empty_like(ours.default(*arguments))
    their_out = out.view(theirs.default(*their_arguments).shape)
    returned, written = partial(theirs.default, *their_arguments), into(theirs, their_out, *their_arguments)
    pairs = {"": (partial(ours.default, *arguments), returned), ".out": (partial(ours.out, *arguments, out=out), written)}
    if "self" in ours.overloads():
        pairs[".self"] = partial(ours.self, *their_arguments), returned
        pairs[".self_out"] = partial(ours.self_out, *their_arguments, out=out), written
    return {f"{operator.backward}{overload}{peer}": pair for overload, pair in pairs.items()}


def autograd_pairs(device: str) -> dict[str, Pair]:
    """Return a forward and backward of torch_aclnn.functional's functions and of torch.nn.functional's."""
    return {operator.function: _autograd_pair(operator.name, device) for operator in OPERATORS}


def _autograd_pair(name: str, device: str) -> Pair:
    shape = torch.Size(SPECIFICATIONS[name].tiny_layer_shape)
    input = torch.arange(float(shape.numel()), device=device).view(shape).requires_grad_()
    ours, theirs = SPECIFICATIONS[name].layers(input)
    grad_output = torch.ones_like(ours(input))
    return partial(_forward_backward, ours, input, grad_output), partial(_forward_backward, theirs, input, grad_output)


def _forward_backward(function: Callable[[Tensor], Tensor], input: Tensor, grad_output: Tensor) -> Tensor:
    return torch.autograd.grad(function(input), input, grad_output)[0]
