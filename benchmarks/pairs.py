"""Pairs of equivalent calls on tiny tensors: ours, and torch's (on npu: torch_npu's)."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch_aclnn._operators import OPERATORS, Operator
from torch_aclnn.check.families import SPECIFICATIONS
from torch_aclnn.check.pairs import tiny_sample
from torch_aclnn.check.samples import Sample

from benchmarks.aten import Peer, packet_peer
from benchmarks.families import FAMILIES

Pair = tuple[Callable[[], Any], Callable[[], Any]]


def operator_pairs(device: str) -> dict[str, Pair]:
    """Return calls of the bare operators: a new result, and one given by `out`."""
    return {name: pair for operator in OPERATORS for name, pair in _operator_pairs(operator, tiny_sample(operator.name, device)).items()}


def _operator_pairs(operator: Operator, sample: Sample) -> dict[str, Pair]:
    ours, arguments = getattr(torch.ops.torch_aclnn, operator.backward), (*sample.tensors, *sample.arguments)
    peer = peer_of(operator, sample)
    out = torch.empty_like(ours.default(*arguments))
    written = peer.into(out.view(peer.call().shape))
    pairs = {"": (partial(ours.default, *arguments), peer.call), ".out": (partial(ours.out, *arguments, out=out), written)}
    return {f"{operator.backward}{overload}{peer.name and f' ({peer.name})'}": pair for overload, pair in pairs.items()}


def peer_of(operator: Operator, sample: Sample) -> Peer:
    """Return torch's own operator, or the family's peer if torch has none."""
    if operator.aten_backward is None:
        return FAMILIES[operator.family].peer(operator, sample)
    return packet_peer("", getattr(torch.ops.aten, operator.aten_backward), *SPECIFICATIONS[operator.name].aten_arguments(sample))


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
