"""inference_attention.cpp: masks, modes, pages and sizes of heads that op-plugin's documents or hardware exclude."""

from contextlib import nullcontext

import pytest
import torch
import torch_npu
from checks import close, on_npu
from definitions import halves

from support.marks import refused_at_once
from support.subprocesses import host_mode, output_of

FUSED, PROMPT = torch_npu.npu_fused_infer_attention_score, torch_npu.npu_prompt_flash_attention
INCREMENT = torch_npu.npu_incre_flash_attention
QUERY, KEY = halves(1, 2, 4, 64), halves(1, 2, 4, 64)


def attend(function, rows, keys=4, **options):
    key = KEY[:, :, :keys].contiguous()
    return on_npu(function, QUERY[:, :, :rows], key, key, num_heads=2, input_layout="BNSD", **options)


@refused_at_once
@pytest.mark.parametrize(("function", "rows", "mode", "shape"), [
    (FUSED, 4, 0, (1, 2, 4, 4)), (PROMPT, 4, 0, (1, 2, 4, 4)), (INCREMENT, 1, 0, (1, 2, 1, 4)), (FUSED, 4, 0, (2, 4, 4)),
    (FUSED, 4, 1, (3, 3)), (FUSED, 4, 1, (4, 3)), (FUSED, 4, 0, (1, 1, 4, 3)), (FUSED, 4, 0, (4,)), (FUSED, 4, 2, (4, 4)),
    (FUSED, 4, 3, (4, 4)), (PROMPT, 4, 4, (4, 4)), (FUSED, 4, 3, (2, 2048, 2048)), *((FUSED, 4, mode, None) for mode in (2, 3, 4)),
])  # fmt: skip
def test_a_mask_that_is_not_for_all_heads_and_scores_is_refused(function, rows, mode, shape):
    options = {} if function is INCREMENT else {"sparse_mode": mode}
    mask = None if shape is None else torch.zeros(shape, dtype=torch.bool)
    with pytest.raises(RuntimeError, match=f"attenMask: expected {'the triangle of 2048 x 2048' if mode > 1 else ''}"):
        attend(function, rows, atten_mask=mask, **options)


@pytest.mark.parametrize("shape", [(4, 4), (1, 4, 4), (1, 1, 4, 4), (1, 1, 32, 32)])
def test_a_mask_may_be_larger_than_the_scores(shape):
    hidden = torch.zeros(shape, dtype=torch.bool)
    hidden[..., 2:] = True
    close(attend(FUSED, 4, atten_mask=hidden)[0], attend(FUSED, 4, keys=2)[0].cpu())


@refused_at_once
@pytest.mark.parametrize(("name", "options"), [
    ("pseShift", {"pse_shift": (1, 1, 4, 4)}), ("pseShift", {"pse_shift": (1, 2, 4, 3)}),
    ("queryRope", {"query_rope": (1, 2, 3, 64), "key_rope": (1, 2, 4, 64)}),
    ("keyRope", {"query_rope": (1, 2, 4, 64), "key_rope": (1, 1, 4, 64)}),
])  # fmt: skip
def test_what_is_added_to_scores_has_their_shape(name, options):
    with pytest.raises(RuntimeError, match=f"{name}: expected"):
        attend(FUSED, 4, **{key: halves(*shape) for key, shape in options.items()})


@pytest.mark.parametrize("page", [4, -7])
def test_a_page_that_is_not_there_is_named_with_its_position(page):
    cache, table = halves(4, 4, 128), torch.tensor([[0, page]], dtype=torch.int32)
    options = {"num_heads": 2, "input_layout": "BSH", "block_table": table, "actual_seq_lengths_kv": [8], "block_size": 4}
    with pytest.raises(RuntimeError, match=rf"blockTable: expected values in \[0, 4\), got {page} at position \[1\]"):
        on_npu(FUSED, halves(1, 1, 128), cache, cache, **options)
        torch.npu.synchronize()


@refused_at_once
@pytest.mark.parametrize(("features", "of_value", "taken"), [(64, 64, True), (192, 128, True), (128, 192, False), (72, 72, False)])
def test_packed_sequences_have_heads_of_few_sizes(features, of_value, taken):
    query, value = halves(6, 2, features), halves(6, 2, of_value)
    options = {"num_heads": 2, "input_layout": "TND", "actual_seq_lengths": [2, 6], "actual_seq_lengths_kv": [2, 6]}
    words = rf"561002[\s\S]*query: expected heads of 64, 128 or 192.*got {features} and {of_value}"
    with nullcontext() if taken else pytest.raises(RuntimeError, match=words):
        assert on_npu(FUSED, query, query, value, **options)[0].shape == value.shape


STRICT = """
import torch, torch_npu

def attempt(call):
    try:
        call()
        print("taken")
    except RuntimeError as error:
        print(str(error).split("WorkspaceSize")[-1].replace("\\n", " ")[:60] if "strict" in str(error) else str(error))

half = lambda *shape: torch.randn(shape).half().npu()
fused = lambda query, key, heads: torch_npu.npu_fused_infer_attention_score(query, key, key, num_heads=heads, input_layout="BNSD")
attempt(lambda: fused(half(1, 4, 4, 16), half(1, 4, 4, 16).transpose(1, 2), 4))
attempt(lambda: fused(half(1, 1, 2, 520), half(1, 1, 2, 520), 1))
attempt(lambda: torch_npu.npu_fusion_attention(half(1, 1, 2, 800), half(1, 1, 2, 800), half(1, 1, 2, 800), 1, "BNSD"))
attempt(lambda: torch_npu.npu_fusion_attention(half(1, 1, 2, 64), half(1, 1, 2, 64), half(1, 1, 2, 128), 1, "BNSD"))
attempt(lambda: torch.zeros(3, 2, dtype=torch.complex64).npu().T.copy_(torch.ones(2, 3, dtype=torch.complex64).npu()))
"""


@refused_at_once
@pytest.mark.parametrize("strict", [False, True])
def test_what_strict_mode_refuses_of_sizes_and_strides(strict):
    said = output_of(STRICT, **host_mode(*["strict"] * strict, without=("unspecified", *["strict"] * (not strict)))).splitlines()
    assert len(said) == 5 and [line == "taken" for line in said] == [not strict] * 5, said
