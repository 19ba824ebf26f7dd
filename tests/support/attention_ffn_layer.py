"""A layer whose attention and experts are on devices of their own, which torch_npu's functions connect by windows."""

import torch
import torch.distributed as dist

FFN, SESSIONS = 2, 2  # the ranks with experts come first
TOKENS, CHOICES, FEATURES, EXPERTS = 3, 2, 256, 4
EACH = CHOICES + 1  # the last expert is shared
# A row for each expert: the number of its copies, and for each copy the rank and its number there.
TABLE = [[1, 0, 0, 0, 0], [2, 0, 1, 1, 3], [1, 1, 2, 0, 0], [1, 1, 4, 0, 0], [2, 1, 5, 0, 6]]


def operands(session: int, step: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the tokens of a session, the experts that they choose, and their scales."""
    draw = torch.Generator().manual_seed(10 * session + step)
    ids = torch.stack([torch.randperm(EXPERTS, generator=draw)[:CHOICES] for _ in range(TOKENS)])
    return torch.randn(TOKENS, FEATURES, generator=draw).half(), ids.int(), torch.rand(TOKENS, CHOICES, generator=draw)


def place_of(session: int, expert: int) -> tuple[int, int]:
    """Return the rank that computes an expert for a session, and the number of the expert there."""
    count, *places = TABLE[expert]
    index = session % count
    return places[2 * index], places[2 * index + 1]


def computed(tokens: torch.Tensor, number: int) -> torch.Tensor:
    """What an expert makes of tokens."""
    return tokens * (0.5 + number)


def run(quantised: bool, active: int) -> list[torch.Tensor]:
    """Two steps, each of which all sessions send at once; return what a session's tokens have become."""
    import torch_npu
    from torch_npu import _afd

    rank = dist.get_rank()
    backend = dist.group.WORLD._get_backend(torch.device("npu"))
    group = backend.get_hccl_comm_name(rank)
    dist.barrier()
    has_experts = rank < FFN
    backend._window_register_and_exchange(1 << 20, list(range(FFN, FFN + SESSIONS)) if has_experts else list(range(FFN)))
    window = backend._get_window_mem()
    stride = 512  # the distance of what is sent, in bytes
    side = "ffn" if has_experts else "attention"
    holder = _afd.create_schedule_context_holder(
        schedule_mode=int(not has_experts), session_num=SESSIONS, micro_batch_num=1, micro_batch_size=TOKENS, selected_expert_num=EACH,
        expert_num=EXPERTS + 1, attn_to_ffn_token_size=stride, ffn_to_attn_token_size=2 * FEATURES,
        **{f"{side}_window": window.data_ptr(), f"{side}_window_size": window.numel()},
    )  # fmt: skip
    context = holder.get_schedule_context_tensor()
    torch.npu.synchronize()
    dist.barrier()

    def index(value: int) -> torch.Tensor:
        return torch.tensor([value], dtype=torch.int32).npu()

    results = []
    for step in range(2):
        if has_experts:
            _afd.ffn_worker_scheduler_(context, sync_group_size=SESSIONS)
            y, groups, *places, scales, count = torch_npu.npu_ffn_worker_batching(
                context, 8, [SESSIONS, TOKENS, EACH, FEATURES], token_dtype=2 if quantised else 0
            )
            rows = (y.float() * scales.unsqueeze(1)).half() if quantised else y
            ends = [0, *groups[:, 1].cumsum(0).tolist()]
            for number, begin, end in zip(groups[:, 0].tolist(), ends, ends[1:], strict=False):
                rows[begin:end] = computed(rows[begin:end], number)
            torch_npu.npu_ffn_to_attention(
                rows, *places, count, group, FFN + SESSIONS, [1, TOKENS, EACH], [1, TOKENS, EACH, FEATURES],
                attn_rank_table=torch.arange(FFN, FFN + SESSIONS, dtype=torch.int32).npu(),
            )  # fmt: skip
            results.append(groups.cpu())
        else:
            x, ids, scales = operands(rank - FFN, step)
            torch_npu.npu_attention_to_ffn(
                x.unsqueeze(0).npu(), index(rank - FFN), index(0), index(0), ids.unsqueeze(0).npu(),
                torch.tensor([TABLE], dtype=torch.int32).npu(), group, FFN + SESSIONS, [SESSIONS, 1, 2 + TOKENS * EACH],
                [SESSIONS, 1, TOKENS, EACH, stride // (1 if quantised else 2)], [1, TOKENS, EACH], EXPERTS,
                active_mask=(torch.arange(TOKENS) < active).unsqueeze(0).npu(), quant_mode=2 if quantised else 0,
            )  # fmt: skip
            _afd.attention_worker_scheduler_(context)
            y, _ = torch_npu.npu_attention_worker_combine(context, scales.npu(), index(0), FEATURES)
            results.append(y.cpu())
    torch.npu.synchronize()
    dist.barrier()
    return results
