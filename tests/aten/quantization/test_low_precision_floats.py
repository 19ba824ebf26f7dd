"""low_precision_floats.cpp against definitions in float64."""

import pytest
import torch
from checks import DEVICE
from few_bits import EIGHT_BITS

from direct import refuses
from support.marks import PRODUCT, of_the_950


@pytest.mark.skipif(PRODUCT == "950", reason="of the other products")
def test_other_products_refuse_them():
    bits = torch.zeros(4, dtype=torch.uint8, device=DEVICE).view(torch.float8_e4m3fn)
    refuses("self: expected a data type of the product", "aclnnCast", bits, 0, torch.zeros(4, device=DEVICE))


@of_the_950
@pytest.mark.parametrize("name", EIGHT_BITS)
def test_casts_are_torchs(name):
    x, dtype = torch.randn(4, 50) * 100, EIGHT_BITS[name][0]
    got = x.to(DEVICE).to(dtype)
    assert got.cpu().view(torch.uint8).equal(x.to(dtype).view(torch.uint8))
    assert got.to(torch.bfloat16).cpu().equal(x.to(dtype).bfloat16())
    assert x.to(dtype).to(DEVICE).float().cpu().equal(x.to(dtype).float())
