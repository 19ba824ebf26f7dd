"""adapter.cpp: outputs in the memory of an input, exactly or in part."""

import torch
from checks import DEVICE
from few_bits import half_a_byte

from direct import call, fraction, refuses


def npu(*values):
    return torch.tensor(values).to(DEVICE)


def test_lists_whose_members_change_places():
    a, b = npu(1.0, 2.0), npu(30.0, 40.0)
    call("aclnnForeachAddScalarV2", (a, b), fraction(1.0), (b, a))
    assert a.cpu().tolist() == [31, 41] and b.cpu().tolist() == [2, 3]


def test_a_gradient_over_the_gradient_that_it_is_made_of():
    x, gamma, rstd = torch.randn(3, 4), torch.rand(4), torch.rand(3, 1)
    expected, dy = [torch.empty(3, 4, device=DEVICE), torch.empty(4, device=DEVICE)], torch.randn(3, 4).to(DEVICE)
    inputs = [t.to(DEVICE) for t in (x, rstd, gamma)]
    call("aclnnRmsNormGrad", dy, *inputs, *expected)
    of_gamma = torch.empty(4, device=DEVICE)
    call("aclnnRmsNormGrad", dy, *inputs, dy, of_gamma)
    assert dy.cpu().equal(expected[0].cpu()) and of_gamma.cpu().equal(expected[1].cpu())


def test_a_permutation_into_its_own_memory():
    """The second time the executor is made of what was kept of the first."""
    for _ in range(3):
        x = npu([1.0, 2.0], [3.0, 4.0])
        call("aclnnPermute", x, [1, 0], x)
        assert x.cpu().tolist() == [[1, 3], [2, 4]]


def test_numbers_of_four_bits_share_no_memory_with_others():
    weight = torch.ones(3, 16, dtype=torch.int32, device=DEVICE)
    for first in (0, 8, 29):
        out = half_a_byte(weight.view(torch.uint8).flatten()[first:], (3, 16))
        refuses("weightInt4Pack: expected memory of its own", "aclnnConvertWeightToINT4Pack", weight, out)
