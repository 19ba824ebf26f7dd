"""Gradients of definitions."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from .translated import write, write_each


def gradient(function: Callable[..., torch.Tensor], cotangent: torch.Tensor, *inputs: torch.Tensor) -> Any:
    """Return the gradient of what a function gives, or those by several inputs."""
    with torch.enable_grad():
        inputs = tuple(one.detach().requires_grad_() for one in inputs)
        result = function(*inputs)
        found = torch.autograd.grad(result, inputs, cotangent.reshape(result.shape), allow_unused=True)
    return found[0] if len(found) == 1 else found


def write_gradients(outs: Sequence[Any], function: Callable[..., torch.Tensor], cotangent: torch.Tensor, *inputs: torch.Tensor) -> None:
    """Write the gradients; one input broadcasts with the cotangent."""
    if len(inputs) == 1:
        inputs, cotangent = (inputs[0].expand(outs[0].shape),), cotangent.expand(function(inputs[0].expand(outs[0].shape)).shape)
    found = gradient(function, cotangent, *inputs)
    write_each((found,) if len(inputs) == 1 else found, *outs)


def write_loss_gradient(out: Any, loss: Callable[..., torch.Tensor], cotangent: torch.Tensor, x: torch.Tensor, reduction: int) -> None:
    """Write the gradient of each element's loss; that of their mean counts each as its share."""
    x = x.expand(out.shape)
    write(out, gradient(loss, (cotangent / (x.numel() if reduction == 1 else 1)).expand(loss(x).shape), x))
