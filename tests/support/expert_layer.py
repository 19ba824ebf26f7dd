"""A layer whose experts are spread over ranks, by torch_npu's functions, and the same layer in one process."""

import dataclasses
from typing import Any

import torch
import torch.distributed as dist

FEATURES, CHOICES = 16, 2


@dataclasses.dataclass(frozen=True)
class Layer:
    """How a layer is called; ``tokens`` counts each rank's, ``special`` the experts that return zeros, the token, and a constant."""

    tokens: tuple[int, ...]
    experts: int = 4
    shared_ranks: int = 0
    special: tuple[int, int, int] = (0, 0, 0)
    version: int = 2
    dtype: torch.dtype = torch.bfloat16
    masked: bool = False
    quantised: bool = False
    normalised: bool = False


class Operands:
    """The operands of all ranks, which each rank makes in the same way."""

    def __init__(self, layer: Layer) -> None:
        draw = torch.Generator().manual_seed(7)

        def random(*shape: int, dtype: torch.dtype = layer.dtype) -> torch.Tensor:
            return torch.randn(shape, generator=draw).to(dtype)

        count = layer.experts + sum(layer.special)
        self.weights = random(layer.experts + 1, FEATURES, FEATURES) / 4  # the last is the shared expert's
        self.smooth = random(layer.experts + (layer.shared_ranks > 0), FEATURES, dtype=torch.float32).abs() + 0.5
        self.constants = [random(layer.special[2], FEATURES) for _ in range(3)]
        self.gamma = random(FEATURES)
        self.x, self.beside, self.scales, self.ids, self.mask = [], [], [], [], []
        for tokens in layer.tokens:
            self.x.append(random(tokens, FEATURES))
            self.beside.append(random(tokens, FEATURES))
            self.scales.append(random(tokens, CHOICES, dtype=torch.float32).softmax(-1))
            self.ids.append(torch.stack([torch.randperm(count, generator=draw)[:CHOICES] for _ in range(tokens)]).int())
            self.mask.append(torch.rand(tokens, CHOICES, generator=draw) < 0.7)


def expected(layer: Layer, rank: int) -> torch.Tensor:
    """Return what the tokens of a rank become, in float64 but for the roundings of rows that experts take and give."""
    given, zeros, copies = Operands(layer), layer.experts + layer.special[0], layer.experts + sum(layer.special[:2])
    out = torch.zeros(layer.tokens[rank], FEATURES, dtype=torch.float64)

    def expert(row: torch.Tensor, number: int, weight: int) -> torch.Tensor:
        if layer.quantised:
            scaled = row.double() * given.smooth[number].double()
            largest = scaled.abs().max()
            row = ((scaled * 127 / largest).round() * largest / 127).to(layer.dtype)
        return (row.double() @ given.weights[weight].double()).to(layer.dtype).double()

    for i, row in enumerate(given.x[rank]):
        active = given.mask[rank][i] if layer.masked else torch.ones(CHOICES, dtype=torch.bool)
        for number, scale, counts in zip(given.ids[rank][i].tolist(), given.scales[rank][i].double(), active, strict=True):
            if not counts or layer.experts <= number < zeros:
                continue
            if number < layer.experts:
                value = expert(row, number + (layer.shared_ranks > 0), number)
            elif number < copies:
                value = row.double()
            else:
                first, second, constant = (tensor[number - copies].double() for tensor in given.constants)
                value = first * row.double() + second * constant
            out[i] += scale * value
        if layer.shared_ranks and active.any():
            out[i] += expert(row, 0, layer.experts)
    return out + given.beside[rank].double() if layer.version > 1 else out


def run(layers: list[Layer]) -> list[dict[str, torch.Tensor]]:
    """Return what each of the layers makes of this rank's tokens."""
    return [_run(layer) for layer in layers]


def _run(layer: Layer) -> dict[str, torch.Tensor]:
    import torch_npu

    rank, ranks = dist.get_rank(), dist.get_world_size()
    name = dist.group.WORLD._get_backend(torch.device("npu")).get_hccl_comm_name(rank)  # type: ignore[union-attr]
    given = Operands(layer)
    x, beside, ids, scales = (tensors[rank].npu() for tensors in (given.x, given.beside, given.ids, given.scales))
    common: dict[str, Any] = {
        "group_ep": name, "ep_world_size": ranks, "ep_rank_id": rank, "moe_expert_num": layer.experts,
        "shared_expert_rank_num": layer.shared_ranks, "global_bs": max(layer.tokens) * ranks,
    }  # fmt: skip
    if layer.masked:
        common["x_active_mask"] = given.mask[rank].npu()
    special = dict(zip(("zero_expert_num", "copy_expert_num", "const_expert_num"), layer.special, strict=True))
    suffix = "" if layer.version == 1 else "_v2"
    dispatch = getattr(torch_npu, f"npu_moe_distribute_dispatch{suffix}")
    own_special = special if layer.version > 1 else {}
    rows, row_scales, info, numbers, counts, *_ = dispatch(
        x, ids, **common, **own_special, quant_mode=2 * layer.quantised, scales=given.smooth.npu() if layer.quantised else None
    )
    if layer.quantised:
        rows = (rows.double() * row_scales.double().unsqueeze(1)).to(layer.dtype)
    first = layer.experts if rank < layer.shared_ranks else (rank - layer.shared_ranks) * layer.experts // (ranks - layer.shared_ranks)
    begin, made = 0, torch.zeros_like(rows)
    for expert, number in enumerate(numbers.tolist()):
        end = begin + number
        made[begin:end] = (rows[begin:end].double() @ given.weights[first + expert].npu().double()).to(layer.dtype)
        begin = end
    operands = dict(
        zip(("const_expert_alpha_1", "const_expert_alpha_2", "const_expert_v"), (t.npu() for t in given.constants), strict=True)
    )
    own = {"shared_expert_x": beside, "ori_x": x, **operands, **special} if layer.version > 1 else {}
    if layer.normalised:
        residual, gamma = x.unsqueeze(1), given.gamma.npu()
        results = torch_npu.npu_moe_distribute_combine_add_rms_norm(made, ids, info, counts, scales, residual, gamma, **common, **own)
        return dict(zip(("y", "rstd", "x"), (result.cpu() for result in results), strict=True))
    combine = getattr(torch_npu, f"npu_moe_distribute_combine{suffix}")
    out = combine(made, ids, info, counts, scales, **common, **own)
    waited = torch_npu._npu_distribute_barrier(out, name, ranks)
    return {"out": waited.cpu(), "received": rows[:begin].cpu(), "numbers": numbers.cpu()}


def refusals() -> list[str]:
    """Return what is said of an expert that does not exist, and of counts that are not those of the experts."""
    import torch_npu

    rank, ranks = dist.get_rank(), dist.get_world_size()
    messages = []
    for wrong in ("id", "counts"):
        group = dist.new_group(list(range(ranks)))
        name = group._get_backend(torch.device("npu")).get_hccl_comm_name(rank)
        x, ids = torch.ones(2, FEATURES).half().npu(), torch.tensor([[0, 1], [1, 0]], dtype=torch.int32).npu()
        common = {"group_ep": name, "ep_world_size": ranks, "ep_rank_id": rank, "moe_expert_num": 2}
        try:
            given_ids = ids + 2 if wrong == "id" else ids
            rows, _, info, _, counts, *_ = torch_npu.npu_moe_distribute_dispatch_v2(x, given_ids, **common)
            torch.npu.synchronize()
            torch_npu.npu_moe_distribute_combine_v2(rows, ids, info, counts + 1, torch.ones(2, 2).npu(), **common)
            torch.npu.synchronize()
        except RuntimeError as error:
            messages.append(str(error))
    return messages
