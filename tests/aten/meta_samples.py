"""Arguments of torch_npu's operators that have a registration for tensors without data, one call each."""

from collections.abc import Callable
from typing import Any

import torch
from arguments import COMMUNICATOR

F16, F32, BF16, I8, I32, I64 = torch.float16, torch.float32, torch.bfloat16, torch.int8, torch.int32, torch.int64
Call = tuple[tuple[Any, ...], dict[str, Any]]


def call(*args: Any, **kwargs: Any) -> Call:
    return args, kwargs


def floats(*shape: int, dtype: torch.dtype = F32) -> torch.Tensor:
    return torch.rand(shape, dtype=F32).to(dtype)


def halves(*shape: int) -> torch.Tensor:
    return floats(*shape, dtype=F16)


def numbers(*values: Any, dtype: torch.dtype = I64) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype)


def ints(*shape: int, dtype: torch.dtype = I32) -> torch.Tensor:
    return torch.zeros(shape, dtype=dtype)


def booleans(*shape: int) -> torch.Tensor:
    return torch.zeros(shape, dtype=torch.bool)


def triangle(*shape: int) -> torch.Tensor:
    return torch.ones(shape, dtype=torch.bool).triu(1)


def attention(*shape: int) -> tuple[torch.Tensor, ...]:
    return tuple(floats(*shape) for _ in range(3))


def attention_gradient(*shape: int, **kwargs: Any) -> Call:
    query, key, value = attention(*shape)
    statistics = {name: floats(*shape[:3], 8) for name in ("softmax_max", "softmax_sum")}
    return call(query, key, value, floats(*shape), shape[1], "BNSD", attention_in=floats(*shape), scale_value=0.5, **statistics, **kwargs)


ROUTING = torch.eye(4, dtype=torch.bool) | torch.eye(4, dtype=torch.bool).roll(1, 0)  # two experts a token
PLACES = numbers(0, 4, 1, 2, 3, 6, 5, 7, dtype=I32)
CHOICES = numbers([2, 3], [3, 1], [3, 1], [1, 2], [1, 3], dtype=I32)


ONE_RANK = COMMUNICATOR.decode()


def returned(info: int, *operands: torch.Tensor) -> Call:
    """Return a call for three tokens, each of which has two of four experts."""
    counts = torch.tensor([CHOICES[:3].le(expert).sum() for expert in range(4)], dtype=I32)
    return call(halves(6, 4), CHOICES[:3], ints(info), counts, floats(3, 2), *operands, ONE_RANK, 1, 0, 4)


def latent(**kwargs: Any) -> Call:
    places = [halves(2, 1, 3, 64) for _ in range(2)]
    caches = [halves(2, 1, 4, 64), halves(2, 1, 4, 512)]
    return call(halves(2, 1, 3, 576), halves(512), *places, ints(2, 3, dtype=I64), *caches, **kwargs)


def paged() -> tuple[torch.Tensor, ...]:
    return halves(5, 2, 16), halves(5, 2, 32), halves(3, 4, 2, 16), halves(3, 4, 2, 32), numbers(7, 0, -1, 11, 4, dtype=I32)


SAMPLES: dict[str, Callable[[], Call]] = {
    "_npu_distribute_barrier": lambda: call(halves(3, 4), ONE_RANK, 1),
    "aten::_convolution": lambda: call(
        *(floats(1, 2, 4, 4), floats(3, 2, 3, 3), None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, False, False, False, False)
    ),
    "aten::matmul_backward": lambda: call(floats(3, 5), floats(3, 4), floats(4, 5), [True, True]),
    "_npu_dropout": lambda: call(floats(3, 5), 0.5),
    "_npu_dropout_gen_mask.Tensor": lambda: call(floats(3, 5), [3, 5], 0.5, 1, 2),
    "_npu_dtype_cast": lambda: call(halves(3, 4), F32),
    **dict.fromkeys(("_npu_dtype_cast_backward", "npu_dtype_cast_backward"), lambda: call(floats(3, 4), F16)),
    "_npu_format_cast": lambda: call(halves(16, 16), 29),
    **dict.fromkeys(("_npu_index_add", "_npu_index_add_"), lambda: call(floats(4, 3), numbers(2, 0), floats(2, 3))),
    "_npu_moe_token_unpermute": lambda: call(floats(5, 4), numbers(0, 4, 3, 1, 2, dtype=I32), floats(5, 1)),
    "_npu_moe_token_unpermute_with_routing_map": lambda: call(floats(8, 3), PLACES, [4, 3], probs=floats(4, 4), routing_map=ROUTING),
    "batch_norm_gather_stats_update": lambda: call(
        *(floats(2, 3, 4), floats(2, 3), floats(2, 3), floats(3), floats(3), 0.1, 1e-5, numbers(8, 20, dtype=I32))
    ),
    "batch_norm_reduce": lambda: call(floats(2, 3, 1, 4), 1e-5),
    **dict.fromkeys(("fast_gelu", "npu_sim_exponential_"), lambda: call(floats(5))),
    **dict.fromkeys(("kl_div_backward", "l1_loss_backward"), lambda: call(floats(3, 4), floats(3, 4), floats(3, 4), 0)),
    "npu_add_layer_norm": lambda: call(floats(3, 4), floats(3, 4), floats(4), floats(4), 1e-5, True),
    "npu_add_rms_norm": lambda: call(floats(3, 6), floats(3, 6), floats(6)),
    "npu_add_rms_norm_cast": lambda: call(halves(3, 16), halves(3, 16), halves(16)),
    "npu_add_rms_norm_dynamic_quant": lambda: call(
        halves(4, 32), halves(4, 32), halves(32), smooth_scale1=halves(32), smooth_scale2=halves(32)
    ),
    "npu_add_rms_norm_quant": lambda: call(halves(4, 32), halves(4, 32), halves(32), floats(32), ints(32)),
    **dict.fromkeys(("npu_add_rms_norm_v2", "npu_add_rms_norm_v2_functional"), lambda: call(floats(3, 16), floats(3, 16), floats(16))),
    "npu_alltoallv_gmm": lambda: call(halves(3, 4), halves(2, 4, 5), ONE_RANK, 1, [1, 2], [1, 2], permute_out_flag=True),
    "npu_anti_quant": lambda: call(ints(3, 2), floats(16), dst_dtype=5, src_dtype=16),
    "npu_apply_adam_w.out": lambda: call(
        *(0.81, 0.98, 0.1, 0.01, 0.9, 0.99, 1e-6, floats(20), None, False, False), out=[floats(20), floats(20), floats(20)]
    ),
    "npu_apply_rotary_pos_emb": lambda: call(halves(2, 3, 4, 128), *(halves(2, 3, 1, 128) for _ in range(3))),
    "npu_attention_update": lambda: call([floats(6), floats(6)], [floats(6, 8), floats(6, 8)], 1),
    "npu_bmmV2": lambda: call(floats(2, 3, 4), floats(2, 4, 5), []),
    **dict.fromkeys(("npu_clipped_swiglu", "npu_swiglu"), lambda: call(floats(3, 4, 6))),
    "npu_conv2d": lambda: call(floats(1, 2, 4, 4), floats(3, 2, 3, 3), None, [1, 1], [1, 1], [1, 1], 1),
    "npu_conv2d_backward": lambda: call(
        floats(1, 2, 4, 4), floats(1, 3, 4, 4), floats(3, 2, 3, 3), [1, 1], [1, 1], [1, 1], 1, [True, True, True]
    ),
    "npu_convolution": lambda: call(floats(1, 2, 4, 4), floats(3, 2, 3, 3), None, [1, 1], [1, 1], [1, 1], 1),
    "npu_convolution_transpose": lambda: call(floats(1, 2, 4, 4), floats(2, 3, 3, 3), None, [1, 1], [0, 0], [1, 1], [1, 1], 1),
    "npu_cross_entropy_loss": lambda: call(floats(6, 5), numbers(1, 4, 2, 0, 2, 3), floats(5), "mean"),
    "npu_cross_entropy_loss_backward": lambda: call(*(floats(1), floats(6, 5), numbers(1, 4, 2, 0, 2, 3), floats(5), None, None, "mean")),
    "npu_deep_norm": lambda: call(floats(3, 4), floats(3, 4), floats(4), floats(4)),
    "npu_deep_norm_backward": lambda: call(*(floats(3, 4) for _ in range(3)), floats(4), floats(3, 1), floats(3, 1)),
    "npu_dequant_swiglu_quant": lambda: call(halves(4, 32), quant_mode=1, swiglu_mode=1, clamp_limit=3.0, glu_alpha=1.5, glu_bias=0.5),
    "npu_dropout_backward": lambda: call(floats(4, 4), ints(16, dtype=torch.uint8), 0.5),
    "npu_dtype_cast": lambda: call(floats(4, 6), 5),
    "npu_dynamic_quant": lambda: call(halves(2, 8)),
    "npu_dynamic_quant_asymmetric": lambda: call(halves(4, 32)),
    **dict.fromkeys(("npu_fast_gelu", "npu_gelu", "npu_gelu_mul", "npu_silu"), lambda: call(floats(3, 4))),
    "npu_fast_gelu_backward": lambda: call(floats(3, 4), floats(3, 4)),
    "npu_fused_infer_attention_score": lambda: call(
        *(halves(1, 1, 3, 8) for _ in range(3)), atten_mask=triangle(1, 1, 3, 3), input_layout="BNSD", sparse_mode=1
    ),
    "npu_fused_infer_attention_score_v2": lambda: call(
        *(floats(2, 3, 5, 8, dtype=BF16) for _ in range(3)), num_query_heads=3, input_layout="BNSD", return_softmax_lse=True
    ),
    "npu_fusion_attention": lambda: call(*attention(1, 2, 5, 8), 2, "BNSD"),
    "npu_fusion_attention_grad": lambda: attention_gradient(1, 2, 5, 8),
    "npu_fusion_attention_grad_v2": lambda: attention_gradient(1, 2, 5, 8),
    "npu_fusion_attention_grad_v3": lambda: attention_gradient(1, 2, 5, 8),
    **dict.fromkeys(("npu_fusion_attention_v2", "npu_fusion_attention_v3"), lambda: call(*attention(1, 2, 5, 8), 2, "BNSD", scale=0.5)),
    "npu_gather_pa_kv_cache_functional": lambda: call(
        *(halves(3, 4, 2, 16), halves(3, 4, 2, 32), ints(2, 1), numbers(2, 3, dtype=I32), halves(5, 2, 16), halves(5, 2, 32))
    ),
    "npu_gather_backward": lambda: call(floats(2, 3), [2, 5], 1, ints(2, 3, dtype=I64), False),
    "npu_gather_sparse_index": lambda: call(floats(4, 3), numbers(1, 0)),
    "npu_geglu": lambda: call(floats(3, 4, 6), 1, 0, True),
    "npu_geglu_grad": lambda: call(floats(3, 2, 6), floats(3, 4, 6), floats(3, 2, 6), 1, 0, True),
    "npu_gelu_backward": lambda: call(floats(3, 4), floats(3, 4)),
    "npu_gemma_rms_norm": lambda: call(floats(3, 4, 16), floats(16)),
    "npu_gmm_alltoallv": lambda: call(
        halves(3, 4), halves(2, 4, 5), ONE_RANK, 1, [1, 2], [1, 2], mm_x=halves(2, 4), mm_weight=halves(4, 3)
    ),
    "npu_group_norm_silu": lambda: call(floats(2, 6, 4, 3), floats(6), floats(6), 3),
    "npu_group_norm_swish": lambda: call(floats(2, 6, 5, 3), 3, floats(6), floats(6)),
    "npu_grouped_matmul": lambda: call([floats(2, 4), floats(3, 4)], [floats(4, 5), floats(4, 6)], group_type=-1),
    "npu_grouped_matmul.List": lambda: call([floats(8, 6)], [floats(6, 3) for _ in range(4)], group_list=[2, 2, 7, 8]),
    "npu_grouped_matmul_add": lambda: call(floats(4, 6, 3), halves(8, 6), halves(8, 3), numbers(2, 2, 7, 8)),
    "npu_grouped_matmul_add_": lambda: call(floats(4, 6, 3), halves(8, 6), halves(8, 3), numbers(2, 2, 7, 8)),
    "npu_incre_flash_attention": lambda: call(halves(2, 2, 1, 8), halves(2, 2, 7, 8), halves(2, 2, 7, 8), num_heads=2, input_layout="BNSD"),
    "npu_interleave_rope": lambda: call(halves(2, 3, 4, 64), halves(2, 1, 4, 64), halves(2, 1, 4, 64)),
    "npu_kv_rmsnorm_rope_cache": lambda: latent(is_output_kv=True),
    "npu_kv_rmsnorm_rope_cache_v2": lambda: latent(is_output_kv=True),
    "npu_kv_rmsnorm_rope_cache_v2_functional": lambda: latent(is_output_kv=True),
    "npu_linear": lambda: call(floats(3, 4), floats(5, 4), floats(5)),
    "npu_linear_backward": lambda: call(floats(3, 5), floats(3, 4), floats(5, 4)),
    "npu_lstm_cell": lambda: call(floats(3, 4), floats(4, 20), floats(5, 20), floats(3, 5), floats(3, 5)),
    "npu_lstm_cell_backward": lambda: call(
        *(None, floats(3, 5), floats(3, 5), floats(3, 4), floats(4, 20), floats(5, 20), floats(3, 5), floats(3, 5)),
        *(floats(1, 3, 5), floats(3, 5), floats(3, 5), *(floats(1, 3, 5) for _ in range(5))),
    ),
    "npu_masked_softmax_with_rel_pos_bias": lambda: call(floats(1, 2, 3, 4, 4), floats(1, 2, 1, 4, 4), floats(1, 1, 3, 4, 4)),
    "npu_mm_all_reduce_base": lambda: call(halves(3, 4), halves(4, 5), ONE_RANK),
    "npu_moe_compute_expert_tokens": lambda: call(numbers(0, 0, 2, 2, 2, 5, dtype=I32), 5),
    "npu_moe_distribute_combine": lambda: returned(6),
    "npu_moe_distribute_combine_add_rms_norm": lambda: returned(6 * 128, halves(3, 1, 4), halves(4)),
    "npu_moe_distribute_combine_v2": lambda: returned(6 * 128),
    "npu_moe_distribute_dispatch": lambda: call(halves(3, 4), CHOICES[:3], ONE_RANK, 1, 0, 4),
    "npu_moe_distribute_dispatch_v2": lambda: call(halves(3, 4), CHOICES[:3], ONE_RANK, 1, 0, 4, scales=floats(4, 4), quant_mode=2),
    "npu_moe_finalize_routing": lambda: call(
        *(floats(10, 3), floats(5, 3), floats(5, 3), floats(4, 3), floats(5, 2), torch.randperm(10).to(I32), CHOICES)
    ),
    "npu_moe_gating_top_k": lambda: call(floats(6, 8), 3, bias=floats(8), k_group=2, group_count=4, out_flag=True),
    "npu_moe_gating_top_k_softmax": lambda: call(floats(5, 8), booleans(5), 3),
    "npu_moe_gating_top_k_softmax_v2": lambda: call(floats(2, 3, 8), k=3, output_softmax=True),
    "npu_moe_init_routing": lambda: call(floats(5, 3), torch.arange(10, dtype=I32).view(2, 5).t().contiguous(), CHOICES, 5),
    "npu_moe_init_routing_v2": lambda: call(
        floats(5, 3),
        CHOICES,
        active_num=8,
        expert_capacity=2,
        expert_num=4,
        drop_pad_mode=1,
        expert_tokens_num_type=1,
        expert_tokens_num_flag=True,
        active_expert_range=[0, 4],
    ),
    "npu_moe_re_routing": lambda: call(halves(6, 4), numbers([1, 2], [0, 3], dtype=I32), per_token_scales=floats(6)),
    "npu_moe_token_permute": lambda: call(floats(5, 4), numbers([0], [5], [2], [1], [1])),
    "npu_moe_token_permute_grad": lambda: call(
        floats(5, 4), floats(5, 4), numbers([0], [5], [2], [1], [1]), numbers(0, 4, 3, 1, 2, dtype=I32)
    ),
    "npu_moe_token_permute_grad_v2": lambda: call(floats(5, 4), numbers(0, 4, 3, 1, 2, dtype=I32), 5, F32, 1),
    "npu_moe_token_permute_with_routing_map": lambda: call(floats(4, 3), ROUTING, probs=floats(4, 4), num_out_tokens=8),
    "npu_moe_token_permute_with_routing_map_grad": lambda: call(floats(8, 3), floats(8), PLACES, ROUTING, 4, 4, False),
    "npu_moe_token_unpermute": lambda: call(floats(5, 4), numbers(0, 4, 3, 1, 2, dtype=I32), floats(5, 1)),
    "npu_moe_token_unpermute_grad": lambda: call(floats(5, 4), floats(5, 4), numbers(0, 4, 3, 1, 2, dtype=I32), floats(5, 1)),
    "npu_moe_token_unpermute_grad_v2": lambda: call(floats(3, 4), numbers(2, 0, 1, dtype=I32), 3, F32),
    "npu_moe_token_unpermute_with_routing_map": lambda: call(floats(8, 3), PLACES, [4, 3], probs=floats(4, 4), routing_map=ROUTING),
    "npu_moe_token_unpermute_with_routing_map_grad": lambda: call(
        *(floats(4, 3), PLACES, PLACES, ROUTING, floats(8, 3), floats(4, 4), False, [4, 3])
    ),
    "npu_mrope": lambda: call(numbers(0, 1), floats(2, 8), floats(2, 8), floats(3, 8), 8),
    "npu_moe_update_expert": lambda: call(
        CHOICES, numbers([1, 0, 0], [2, 1, 3], [1, 2, 0], [1, 4, 0], dtype=I32), local_rank_id=1, world_size=2
    ),
    "npu_prompt_flash_attention": lambda: call(*(halves(2, 2, 5, 8) for _ in range(3)), num_heads=2, input_layout="BNSD"),
    "npu_quant_matmul": lambda: call(ints(4, 2), ints(16, 1), floats(8), pertoken_scale=floats(4), output_dtype=5),
    "npu_quantize": lambda: call(floats(4, 3), floats(4), ints(4), 12, 0),
    "npu_reshape": lambda: call(floats(3, 4), [2, 6]),
    "npu_ring_attention_update": lambda: call(*(floats(4, 2, 6), *[floats(2, 3, 4, 8)] * 2) * 2),
    "npu_layer_norm_eval": lambda: call(floats(3, 4, 6), [6], floats(6), floats(6)),
    "npu_rms_norm": lambda: call(floats(3, 4, 6), floats(6)),
    "npu_rms_norm_backward": lambda: call(floats(3, 4, 6), floats(3, 4, 6), floats(6), floats(3, 4, 1)),
    "npu_rms_norm_quant": lambda: call(halves(3, 32), halves(32), halves(32), halves(1), ints(1, dtype=I8)),
    "npu_rotary_mul": lambda: call(floats(2, 3, 4, 64), floats(1, 1, 4, 64), floats(1, 1, 4, 64)),
    "npu_rotary_mul_backward": lambda: call(floats(2, 3, 4, 64), floats(2, 3, 4, 64), floats(1, 1, 4, 64), floats(1, 1, 4, 64)),
    "npu_scatter_list": lambda: call([floats(2, 4, 3)], ints(1), floats(1, 2, 1, 3), numbers(1, dtype=torch.uint8)),
    "npu_scatter_list_": lambda: call([floats(2, 4, 3)], ints(1), floats(1, 2, 1, 3), numbers(1, dtype=torch.uint8)),
    **dict.fromkeys(("npu_scatter_nd_update", "npu_scatter_nd_update_"), lambda: call(floats(3, 4), numbers([0, 1], [2, 3]), floats(2))),
    **dict.fromkeys(("npu_scatter_pa_kv_cache", "npu_scatter_pa_kv_cache_functional"), lambda: call(*paged(), cache_mode="Norm")),
    "npu_scaled_masked_softmax": lambda: call(halves(2, 2, 32, 64), booleans(2, 1, 32, 64), 0.5, False),
    "npu_scaled_masked_softmax_backward": lambda: call(halves(2, 2, 32, 64), halves(2, 2, 32, 64), booleans(2, 1, 32, 64), 0.5, False),
    "npu_silu_backward": lambda: call(floats(3, 4), floats(3, 4), floats(3, 4)),
    "npu_softmax_cross_entropy_with_logits": lambda: call(floats(3, 4), floats(3, 4)),
    "npu_softmax_cross_entropy_with_logits_backward": lambda: call(floats(3), floats(3, 4), floats(3, 4)),
    "npu_swiglu_backward": lambda: call(floats(3, 4, 3), floats(3, 4, 6)),
    "npu_swiglu_quant": lambda: call(floats(6, 32), smooth_scales=floats(1, 16), activate_left=True, quant_mode=1),
    "npu_trans_quant_param": lambda: call(floats(6), floats(6)),
    "npu_transpose": lambda: call(floats(3, 4), [1, 0]),
    "npu_transpose_batchmatmul": lambda: call(halves(3, 4, 5), halves(4, 5, 2), perm_x1=[1, 0, 2]),
    "npu_weight_quant_batchmatmul": lambda: call(halves(3, 64), ints(64, 1), halves(1, 8), halves(1, 8), None, None, halves(8)),
    "repeat_interleave_backward_int": lambda: call(floats(2, 6), floats(2, 3), 2, 1),
    **dict.fromkeys(("scatter_update", "scatter_update_"), lambda: call(floats(2, 3, 4, 5), numbers(1, 2), floats(2, 3, 2, 5), -2)),
}
