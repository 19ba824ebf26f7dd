"""matmul_precision.cpp against definitions in float64."""

import pytest

from support.marks import of_a2_and_a3
from support.subprocesses import host_mode, output_of

ROUNDED = """
import torch, torch_aclnn
torch.npu.matmul.allow_hf32 = torch.npu.conv.allow_hf32 = {allowed}
one = torch.tensor([[1 + 2**-12 + 2**-20, 1 + 2**-12, 1 + 3 * 2**-12, -1 - 2**-12 - 2**-20, float("inf"), 2**-30]])
print((one.npu().t() @ torch.ones(1, 1).npu()).flatten().tolist())
print(torch.nn.functional.conv2d(one[:, None, None].npu(), torch.ones(1, 1, 1, 1).npu()).flatten().tolist())
"""


@of_a2_and_a3
@pytest.mark.parametrize("allowed", [True, False])
def test_products_round_as_hf32_has_it(allowed):
    """Eleven bits of the mantissa are left, and halfway cases go to even."""
    exact = [1 + 2**-12 + 2**-20, 1 + 2**-12, 1 + 3 * 2**-12, -1 - 2**-12 - 2**-20, float("inf"), 2**-30]
    rounded = [1 + 2**-11, 1.0, 1 + 2**-10, -1 - 2**-11, float("inf"), 2**-30]
    printed = output_of(ROUNDED.format(allowed=allowed), **host_mode("hf32")).splitlines()
    assert printed[-2:] == [str(rounded if allowed else exact)] * 2
