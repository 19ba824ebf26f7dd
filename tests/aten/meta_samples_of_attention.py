"""The samples of meta_samples.py of sparse and linear attention and of what goes with them."""

from collections.abc import Callable

import torch
from meta_samples import BF16, F32, I8, I32, I64, Call, call, floats, halves, ints, numbers


def brains(*shape: int) -> torch.Tensor:
    return floats(*shape, dtype=BF16)


def delta(state: torch.Tensor) -> Call:
    places = {"actual_seq_lengths": numbers(3, dtype=I32), "ssm_state_indices": numbers(0, 1, 2, dtype=I32)}
    return call(brains(3, 2, 8), brains(3, 2, 8), brains(3, 4, 6), state, beta=brains(3, 4), scale=0.5, **places)


def query_key_value() -> Call:
    caches = halves(5, 16), halves(3, 2, 4, 4), halves(3, 2, 4, 4)
    return call(halves(5, 32), *(halves(8) for _ in range(2)), *(halves(5, 8) for _ in range(2)), ints(5, dtype=I64), *caches,
                [5, 1, 4, 8], [2, 1, 1], is_output_qkv=True)  # fmt: skip


def turned_keys(**options: str | int) -> Call:
    caches = [ints(2, 6, 1, 8, dtype=I8) for _ in range(2)]
    return call(halves(2, 3, 32), *(halves(2, 3, 1, 8) for _ in range(2)), *caches, ints(2), floats(8), floats(8), [16, 8, 8], **options)


def low_rank() -> Call:
    return call(halves(4, 10), halves(4, 6), halves(3, 2, 10, 3), ints(4), halves(3, 2, 3, 6))


def sequence(heads: int, features: int) -> torch.Tensor:
    return halves(2, 3, heads, features)


def prolog(**options: torch.Tensor) -> Call:
    weights = brains(8, 6), brains(6, 40), brains(2, 4, 16), brains(8, 32), brains(6), brains(16), brains(5, 16), brains(5, 16)
    slots = () if options else (ints(5, dtype=I64),)
    return call(brains(5, 8), *weights, *slots, brains(3, 4, 1, 16), brains(3, 4, 1, 16), **options)


STATISTIC = (2, 1, 3, 4)
BLOCKS = {"q_input_layout": "BNSD", "kv_input_layout": "BNSD", "num_key_value_heads": 2, "scale_value": 0.5}
TRIANGLE = [(1, 2, 3, 5, 8), (1, 2, 3, 4, 8), (1, 2, 3, 4, 8), (1, 2, 4, 5, 8), (1, 2, 4, 5, 8)]
SAMPLES: dict[str, Callable[[], Call]] = {
    **dict.fromkeys(("npu_batch_gather_matmul", "npu_batch_gather_matmul_"), low_rank),
    "npu_block_sparse_attention": lambda: call(
        *(halves(1, 4, 5, 8), halves(1, 2, 5, 8), halves(1, 2, 5, 8), ints(1, 4, 1, 1, dtype=I8), [128, 128]), **BLOCKS, softmax_lse_flag=1
    ),
    "npu_block_sparse_attention_backward": lambda: call(
        *(halves(1, 4, 5, 8), halves(1, 4, 5, 8), halves(1, 2, 5, 8), halves(1, 2, 5, 8), halves(1, 4, 5, 8), floats(1, 4, 5, 1)),
        *(ints(1, 4, 1, 1, dtype=I8), [128, 128], None, None, "BNSD", "BNSD", 2, 0.5),
    ),
    "npu_chunk_gated_delta_rule": lambda: call(
        *(brains(3, 2, 8), brains(3, 2, 8), brains(3, 4, 6)),
        **{"beta": brains(3, 4), "initial_state": brains(1, 4, 6, 8), "actual_seq_lengths": numbers(3, dtype=I32), "scale": 0.5},
    ),
    "npu_dense_lightning_indexer_grad_kl_loss": lambda: call(
        *(sequence(4, 8), sequence(4, 8), sequence(8, 16), sequence(1, 16), halves(2, 3, 8)),
        *(*(floats(2, 4, 3, 1) for _ in range(2)), *(floats(2, 1, 3) for _ in range(2)), 0.5),
    ),
    "npu_dense_lightning_indexer_softmax_lse": lambda: call(sequence(8, 16), sequence(1, 16), halves(2, 3, 8)),
    "npu_fused_causal_conv1d": lambda: call(halves(3, 2, 6), halves(3, 6), halves(3, 3, 6)),
    "npu_fused_causal_conv1d_v2": lambda: call(halves(3, 2, 6), halves(3, 6), halves(3, 3, 6)),
    "npu_fused_floyd_attention": lambda: call(*(halves(*shape) for shape in TRIANGLE)),
    "npu_fused_floyd_attention_backward": lambda: call(
        *(halves(*shape) for shape in (TRIANGLE[0], *TRIANGLE, TRIANGLE[0])), *(floats(1, 2, 3, 5, 8) for _ in range(2))
    ),
    "npu_kv_quant_sparse_flash_attention": lambda: call(
        *(sequence(4, 12), ints(2, 3, 1, 24, dtype=I8), ints(2, 3, 1, 24, dtype=I8), ints(2, 3, 1, 2), 0.5, 2, 2),
        **{"attention_mode": 2, "tile_size": 4, "rope_head_dim": 4},
    ),
    "npu_lightning_indexer": lambda: call(sequence(8, 16), sequence(1, 16), halves(2, 3, 8), sparse_count=2, return_value=True),
    "npu_lightning_indexer_grad": lambda: call(sequence(8, 16), sequence(1, 16), halves(2, 3, 1, 2), ints(2, 3, 1, 2), halves(2, 3, 8)),
    "npu_masked_causal_conv1d": lambda: call(halves(6, 2, 5), halves(3, 5)),
    "npu_masked_causal_conv1d_backward": lambda: call(halves(6, 2, 5), halves(6, 2, 5), halves(3, 5)),
    "npu_mhc_post": lambda: call(sequence(4, 8), floats(2, 3, 4, 4), halves(2, 3, 8), floats(2, 3, 4)),
    "npu_mhc_sinkhorn": lambda: call(floats(2, 3, 4, 4), num_iters=2, out_flag=1),
    "npu_mla_prolog_v2": prolog,
    **dict.fromkeys(("npu_mla_prolog_v3", "npu_mla_prolog_v3_functional"), lambda: prolog(cache_index=ints(5, dtype=I64))),
    **dict.fromkeys(("npu_qkv_rms_norm_rope_cache", "npu_qkv_rms_norm_rope_cache_functional"), query_key_value),
    "npu_quant_lightning_indexer": lambda: call(
        *(ints(2, 3, 8, 16, dtype=I8), ints(2, 3, 1, 16, dtype=I8), halves(2, 3, 8), halves(2, 3, 8), halves(2, 3, 1), 0, 0), sparse_count=2
    ),
    **dict.fromkeys(("npu_recurrent_gated_delta_rule", "npu_recurrent_gated_delta_rule_functional"), lambda: delta(brains(3, 4, 6, 8))),
    "npu_rope_quant_kvcache": lambda: turned_keys(kv_output=True),
    "npu_sparse_flash_attention": lambda: call(
        *(sequence(4, 8), sequence(1, 8), sequence(1, 8), ints(2, 3, 1, 2), 0.5), attention_mode=2, return_softmax_lse=True
    ),
    "npu_sparse_flash_attention_grad": lambda: call(
        *(sequence(4, 8), sequence(1, 8), sequence(1, 8), ints(2, 3, 1, 2), sequence(4, 8), sequence(4, 8)),
        *(floats(*STATISTIC), floats(*STATISTIC), 0.5, 1, sequence(4, 4), sequence(1, 4)),
    ),
    "npu_sparse_lightning_indexer_grad_kl_loss": lambda: call(
        *(sequence(4, 8), sequence(1, 8), sequence(8, 16), sequence(1, 16), halves(2, 3, 8), ints(2, 3, 1, 2)),
        *(floats(*STATISTIC, dtype=F32), floats(*STATISTIC), 0.5),
    ),
    "npu_top_k_top_p": lambda: call(floats(3, 8), floats(3), numbers(2, 3, 4, dtype=I32)),
}
