"""The operators of tensor and sequence parallelism, each with its backward."""

from typing import Any

import torch
import torch_npu
from torch import Tensor, distributed


def _all_gather(x: Tensor, group: Any) -> Tensor:
    out = x.new_empty(x.shape[0] * distributed.get_world_size(group), *x.shape[1:])
    distributed.all_gather_into_tensor(out, x.contiguous(), group=group)
    return out


def _reduce_scatter(x: Tensor, group: Any) -> Tensor:
    out = x.new_empty(x.shape[0] // distributed.get_world_size(group), *x.shape[1:])
    distributed.reduce_scatter_tensor(out, x.contiguous(), group=group)
    return out


def _function(name: str, forward: Any, backward: Any) -> Any:
    """Return an autograd function that applies `forward` to the input and `backward` to the gradient, over a group."""

    def apply(context: Any, x: Tensor, group: Any) -> Tensor:
        context.group = group
        return forward(x, group)

    def differentiate(context: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return backward(gradient, context.group), None

    return type(name, (torch.autograd.Function,), {"forward": staticmethod(apply), "backward": staticmethod(differentiate)})


Gathered = _function("Gathered", _all_gather, _reduce_scatter)
Scattered = _function("Scattered", _reduce_scatter, _all_gather)


def _communicator(group: Any) -> tuple[str, int]:
    backend = group._get_backend(torch.device("npu"))
    return backend.get_hccl_comm_name(distributed.get_rank(group)), distributed.get_world_size(group)


def _rows(x: Tensor) -> Tensor:
    return x.reshape(-1, x.shape[-1])


def _gather_and_multiply(x: Tensor, matrix: Tensor, group: Any) -> tuple[Tensor, Tensor]:
    return torch_npu.npu_all_gather_base_mm(_rows(x), matrix, *_communicator(group), gather_index=0, gather_output=True)


def _multiply_and_scatter(x: Tensor, matrix: Tensor, group: Any) -> tuple[Tensor, Tensor]:
    return torch_npu.npu_mm_reduce_scatter_base(_rows(x), matrix, *_communicator(group), reduce_op="sum"), _rows(x)


class FusedProduct(torch.autograd.Function):
    """A matmul fused with the gather of its input, or with the sum of its result, of which each rank receives its part."""

    @staticmethod
    def forward(context: Any, x: Tensor, matrix: Tensor, group: Any, gathers: bool) -> Tensor:
        """Return the product."""
        fused = _gather_and_multiply if gathers else _multiply_and_scatter
        product, kept = fused(x, matrix.t(), group)
        context.save_for_backward(matrix, kept)
        context.group, context.gathers, context.shape = group, gathers, x.shape
        return product.view(-1, x.shape[1], matrix.shape[0])

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:
        """Return the gradients of the input and the matrix."""
        matrix, kept = context.saved_tensors
        fused = _multiply_and_scatter if context.gathers else _gather_and_multiply
        of_input, whole = fused(gradient, matrix, context.group)
        return of_input.view(context.shape), whole.t().matmul(kept), None, None


class LossOverWords(torch.autograd.Function):
    """Cross entropy over a vocabulary of which each rank has a part."""

    @staticmethod
    def forward(context: Any, logits: Tensor, target: Tensor, group: Any) -> Tensor:
        """Return the loss of each position."""
        exponents = logits.float()
        largest = exponents.max(-1)[0]
        distributed.all_reduce(largest, op=distributed.ReduceOp.MAX, group=group)
        exponents = exponents - largest[..., None]
        picked = exponents.gather(-1, target[..., None]).squeeze(-1).masked_fill(target < 0, 0.0)
        distributed.all_reduce(picked, group=group)
        total = exponents.exp_().sum(-1)
        distributed.all_reduce(total, group=group)
        context.save_for_backward(exponents.div_(total[..., None]))
        return total.log() - picked

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        """Return the gradient of the logits."""
        (shares,) = context.saved_tensors
        return (shares * gradient[..., None]).to(torch.bfloat16), None, None
