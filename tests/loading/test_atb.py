"""What torch_npu hands to ATB (cann-nnal) is computed by other operators, or refused by name."""

import pytest
import torch
import torch_npu

_atb_ops = pytest.importorskip("torch_npu.op_plugin.atb._atb_ops")


def test_what_is_computed() -> None:
    """A slot is a row of a block."""
    rows, weight, sums = torch.randn(6, 4).half(), torch.randn(6, 5).half(), torch.ones(4, 5).npu()
    torch_npu._npu_matmul_add_fp32(rows.npu(), weight.npu(), sums)
    torch.testing.assert_close(sums.cpu().double(), 1 + rows.double().T @ weight.double(), rtol=1e-3, atol=1e-3)
    caches, slots = [torch.zeros(3, 4, 2, 8).half().npu() for _ in range(2)], torch.tensor([7, 0, 10], dtype=torch.int32)
    key, value = (torch.randn(3, 2, 8).half() for _ in range(2))
    torch_npu._npu_reshape_and_cache(key.npu(), value.npu(), *caches, slots.npu())
    for cache, tokens in zip(caches, (key, value), strict=True):
        expected = torch.zeros(12, 2, 8).half().index_copy(0, slots.long(), tokens)
        assert torch.equal(cache.cpu().view(12, 2, 8), expected)


@pytest.mark.parametrize(("owner", "name", "stand_in"), [
    (torch_npu, "_npu_paged_attention", "npu_fused_infer_attention_score"),
    (torch_npu, "_npu_paged_attention_get_workspace", "npu_fused_infer_attention_score"),
    (torch_npu.atb, "npu_ring_mla", "npu_ring_attention_update"),
])  # fmt: skip
def test_what_is_refused(owner: object, name: str, stand_in: str) -> None:
    with pytest.raises(NotImplementedError, match=rf"^{name}: an operator of ATB .*{stand_in}"):
        getattr(owner, name)()


def test_each_is_one_or_the_other() -> None:
    functions = [
        getattr(owner, name)
        for owner, names in ((torch_npu, "API_LIST"), (torch_npu.atb, "ATB_API_LIST"))
        for name in getattr(_atb_ops, names)
    ]
    assert all("torch_aclnn" in (getattr(function, "func", function)).__module__ for function in functions)
