"""attention.cpp: masks and sizes of heads that op-plugin's document of npu_fusion_attention excludes."""

import pytest
import torch
import torch_npu

from cases import DEVICE
from support.marks import refused_at_once


def attend(query, value=None, **options):
    return torch_npu.npu_fusion_attention(query, query, query if value is None else value, 2, options.pop("layout", "BNSD"), **options)[0]


def halves(*shape):
    return torch.randn(shape).half().to(DEVICE)


@pytest.mark.parametrize("mode", [2, 3])
def test_without_a_mask_a_mode_hides_nothing(mode):
    query = halves(1, 2, 4, 16)
    assert attend(query, sparse_mode=mode).cpu().equal(attend(query).cpu())
    assert attend(query, next_tockens=0).cpu().equal(attend(query).cpu())


@refused_at_once
@pytest.mark.parametrize("mode", [2, 3])
def test_modes_with_a_shape_take_a_mask_of_a_fixed_size(mode):
    with pytest.raises(RuntimeError, match="attenMask: expected the triangle of 2048 x 2048"):
        attend(halves(1, 2, 4, 16), sparse_mode=mode, atten_mask=torch.zeros(4, 4, dtype=torch.bool, device=DEVICE))


@refused_at_once
@pytest.mark.parametrize("shape", [(3, 4), (2, 4, 4)])
def test_a_mask_of_packed_sequences_holds_the_longest(shape):
    ends = {"actual_seq_qlen": [2, 6], "actual_seq_kvlen": [2, 6]}
    with pytest.raises(RuntimeError, match="attenMask: expected 2 dimensions of at least 4 and 4"):
        attend(halves(6, 2, 16), layout="TND", sparse_mode=1, atten_mask=torch.zeros(shape, dtype=torch.bool, device=DEVICE), **ends)
