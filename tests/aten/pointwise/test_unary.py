"""unary.cpp: data types in which the pages and torch_npu's list of APIs differ."""

import math

import pytest
import torch

from cases import DEVICE
from support.marks import refused_at_once


@refused_at_once
@pytest.mark.parametrize(
    ("function", "dtype"),
    [
        (torch.ceil, torch.int32),
        (torch.Tensor.ceil_, torch.uint8),
        (torch.sign, torch.int16),
        (torch.isposinf, torch.float64),
        (torch.isneginf, torch.float64),
        (torch.tanh, torch.float64),
    ],
)
def test_types_that_hardware_refuses(function, dtype):
    with pytest.raises(RuntimeError, match="not implemented for DT_"):
        function(torch.ones(2, dtype=dtype).to(DEVICE))


def test_types_of_the_list_alone():
    x = torch.tensor([0.25, -1.0, math.nan], dtype=torch.float64)
    torch.testing.assert_close(torch.expm1(x.to(DEVICE)).cpu(), torch.expm1(x), equal_nan=True)
    for values in (x, torch.complex(x, -x)):
        assert torch.nan_to_num(values.to(DEVICE), 2.0).cpu().equal(torch.nan_to_num(values, 2.0))
        there = values.to(DEVICE)
        assert there.nan_to_num_(2.0).cpu().equal(torch.nan_to_num(values, 2.0))
