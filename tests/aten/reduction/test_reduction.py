"""reduction.cpp: sums of booleans, and norms in float64, which torch_npu's list of APIs has beside the pages."""

import torch

from cases import DEVICE


def test_booleans_are_counted_along_a_dimension():
    flags = torch.tensor([[True, False, True], [False, True, True]])
    assert flags.to(DEVICE).cumsum(1).cpu().equal(flags.cumsum(1))
    assert torch.cumsum(flags.to(DEVICE), 0, dtype=torch.float32).cpu().equal(torch.cumsum(flags, 0, dtype=torch.float32))
    there = flags.to(DEVICE)
    there.cumsum_(1)
    assert there.cpu().equal(flags.cumsum(1).bool())


def test_norms_in_float64():
    x = torch.randn(3, 4, dtype=torch.float64)
    torch.testing.assert_close(x.to(DEVICE).norm().cpu(), x.norm())
    torch.testing.assert_close(torch.nn.functional.normalize(x.to(DEVICE)).cpu(), torch.nn.functional.normalize(x))
    y = torch.complex(x, x.flip(0))
    torch.testing.assert_close(y.to(DEVICE).dist(y.flip(1).to(DEVICE)).cpu(), y.dist(y.flip(1)))
