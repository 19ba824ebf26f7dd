"""expert_permutation.cpp: places of copies that there are not."""

import pytest
import torch
import torch_npu

from cases import DEVICE


@pytest.mark.parametrize("place", [8, -1])
def test_a_copy_without_a_place_is_named(place):
    tokens, order = torch.randn(8, 4, device=DEVICE), torch.tensor([*range(7), place], dtype=torch.int32, device=DEVICE)
    with pytest.raises(RuntimeError, match=rf"sortedIndices: expected values in \[0, 8\), got {place} at position \[7\]"):
        torch_npu.npu_moe_token_unpermute(tokens, order, torch.rand(4, 2, device=DEVICE))
        torch.npu.synchronize()
