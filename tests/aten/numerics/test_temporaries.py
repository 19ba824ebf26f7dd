"""Large results are made in the memory of outputs, also where they are laid out otherwise or where several outputs have one size."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from direct import call

WIDE = 1 << 15  # 128 KiB in float32


def normalized(x: Tensor) -> tuple[Tensor, ...]:
    """Return layer norm of one row with its gradients, which all have one size."""
    x, weight, bias = (tensor.detach().requires_grad_() for tensor in (x, x + 1, x - 1))
    y = F.layer_norm(x, (WIDE,), weight, bias)
    return y.detach(), *torch.autograd.grad(y, (x, weight, bias), 0.3 * x.detach())


def convolved(x: Tensor) -> tuple[Tensor, ...]:
    """Return a convolution with its gradients; that of the input has the size of the filters'."""
    image, filters = (tensor.detach().requires_grad_() for tensor in (x[:27648].view(1, 48, 24, 24), x[:20736].view(48, 48, 3, 3)))
    y = F.conv2d(image, filters, padding=1)
    return y.detach(), *torch.autograd.grad(y, (image, filters), 0.3 * y.detach())


FUNCTIONS: dict[str, Callable[[Tensor], Tensor | tuple[Tensor, ...]]] = {
    "through a temporary": lambda x: F.silu(x),
    "layer norm": normalized,
    "convolution": convolved,
    "running maximum": lambda x: (1e6 * x).long().cummax(0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_made_in_outputs(name: str) -> None:
    x = torch.randn(WIDE, generator=torch.Generator().manual_seed(0))
    results, expected = FUNCTIONS[name](x.npu()), FUNCTIONS[name](x)
    torch.testing.assert_close(results, expected, check_device=False, rtol=1e-4, atol=1e-4)


def test_a_result_made_in_its_output_may_be_laid_out_otherwise() -> None:
    x = torch.randn(128, 256).t()
    out = torch.empty(256, 128, device="npu")
    call("aclnnGelu", x.npu(), out)
    torch.testing.assert_close(out.cpu(), F.gelu(x), rtol=1e-6, atol=1e-6)
