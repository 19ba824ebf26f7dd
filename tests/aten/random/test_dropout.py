"""dropout.cpp against definitions in float64."""

import pytest
import torch
import torch.nn.functional as F
from checks import DEVICE, FLOATS, definitions, drawn

from direct import call
from support.marks import of_the_950


def bits(mask):
    return torch.tensor([[byte >> bit & 1 for bit in range(8)] for byte in mask.tolist()]).flatten().bool()


MASK, KEPT = torch.tensor([0b10110] + [0] * 15, dtype=torch.uint8), torch.arange(12).reshape(3, 4) % 3 > 0
test_definitions = definitions(
    [
        *[(torch._masked_scale, [drawn(3, 4)], (kept, 1.25), lambda x: x * KEPT * 1.25, FLOATS) for kept in (KEPT, KEPT.byte())],
        (torch._masked_scale, [drawn(3, 4), KEPT.double()], (1.25,), lambda x, kept: x * kept * 1.25, FLOATS),
    ]
)


@of_the_950
def test_gradient_of_dropout_on_the_950():
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x, grad = torch.rand(7, 31).to(dtype) + 1, torch.randn(7, 31).to(dtype)
        leaf = x.to(DEVICE).requires_grad_()
        y = F.dropout(leaf, 0.25)
        y.backward(grad.to(DEVICE))
        kept = y.detach().cpu() != 0
        assert 0.6 < kept.double().mean() < 0.9
        torch.testing.assert_close(leaf.grad.cpu(), torch.where(kept, grad.double() / 0.75, 0).to(dtype))


@pytest.mark.parametrize("p", [0.25, 0.0, 1.0])
def test_dropout_with_a_mask(p):
    """The third version makes a mask; the first does nothing where the number drops none or all."""
    x, mask = drawn(40, 100).float(), torch.zeros(512, dtype=torch.uint8, device=DEVICE)
    out, generated = torch.empty(40, 100, device=DEVICE), torch.zeros_like(mask)
    call("aclnnDropoutV3", x, None, p, 5, 7, out, mask)
    kept = bits(mask)[:4000].reshape(40, 100)
    assert abs(kept.double().mean().item() - 1 + p) < 0.03  # the bound is four standard deviations
    expected = torch.where(kept, x / (1 - p), 0) if p < 1 else torch.zeros(40, 100)
    torch.testing.assert_close(out.cpu(), expected)
    for train in (True, False):
        call("aclnnDropout", x, p, train, 5, 7, out, mask.zero_())
        if not train or p in (0, 1):
            assert torch.equal(out.cpu(), x if not train else expected) and not mask.any()
            continue
        kept = bits(mask)[:4000].reshape(40, 100)
        assert abs(kept.double().mean().item() - 0.75) < 0.03
        torch.testing.assert_close(out.cpu(), torch.where(kept, x / 0.75, 0))
        call("aclnnDropoutGenMask", [4000], p, 5, 7, generated)
        assert torch.equal(generated, mask)


@pytest.mark.parametrize("dtype", [*FLOATS, torch.float64], ids=str)
@pytest.mark.parametrize("p", [0.1, 0.5])
def test_dropout(p, dtype):
    x = torch.randn(100, 41, dtype=dtype).abs() + 1
    leaf = x.to(DEVICE).requires_grad_()
    y = F.dropout(leaf, p)
    y.sum().backward()
    kept = y.detach().cpu() != 0
    assert abs(kept.double().mean() - (1 - p)) < 0.03
    torch.testing.assert_close(y.detach().cpu()[kept], (x.double() / (1 - p)).to(dtype)[kept])
    torch.testing.assert_close(leaf.grad.cpu(), torch.where(kept, 1 / (1 - p), 0).to(dtype))


def test_dropout_in_place_drops_the_same():
    x, results = torch.randn(12, 13, device=DEVICE), []
    for inplace in (False, True):
        torch.manual_seed(2)
        results.append(F.dropout(x.clone(), 0.3, inplace=inplace))
    torch.testing.assert_close(*results)


def test_dropout_extremes():
    x = torch.randn(100, device=DEVICE)
    assert (F.dropout(x, 1.0).cpu() == 0).all()
    assert torch.equal(F.dropout(x, 0.0).cpu(), x.cpu())
    assert torch.equal(F.dropout(x, 0.5, training=False).cpu(), x.cpu())
    assert F.dropout(torch.empty(0, device=DEVICE)).shape == (0,)
