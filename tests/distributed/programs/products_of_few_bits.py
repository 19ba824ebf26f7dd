"""Products over ranks of floating point numbers of few bits, by torch_npu's operators on the 950; prints how far each is from float64's."""

import json
import os
import sys

import torch
import torch.distributed as dist
import torch_npu

RANK, RANKS = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.npu.set_device(RANK)
dist.init_process_group("hccl", init_method=sys.argv[1], rank=RANK, world_size=RANKS)
NAME = dist.group.WORLD._get_backend(torch.device("npu")).get_hccl_comm_name(RANK)  # type: ignore[union-attr]
GENERATOR = torch.Generator().manual_seed(6)
E4M3, E5M2, E8M0, E2M1, HIF8 = (
    getattr(torch_npu, name) for name in ("float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float4_e2m1fn_x2", "hifloat8")
)
HALVES = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6], dtype=torch.float64)


def error(got: torch.Tensor, expected: torch.Tensor) -> float:
    """Return the difference, in units of the last place of the greatest number."""
    assert got.shape == expected.shape, (got.shape, expected.shape)
    return ((got.cpu().double() - expected).abs().max() / (expected.abs().max() * torch.finfo(got.dtype).eps)).item()


def drawn(*shape: int) -> list[torch.Tensor]:
    return [torch.randn(shape, generator=GENERATOR) for _ in range(RANKS)]


def powers(*shape: int) -> list[torch.Tensor]:
    """Exponents of each rank, as bytes."""
    return [torch.randint(124, 131, shape, generator=GENERATOR).to(torch.uint8) for _ in range(RANKS)]


def spread(exponents: torch.Tensor, axis: int, size: int) -> torch.Tensor:
    """The powers of two of each number along an axis, which have pairs in the last dimension."""
    pairs = torch.exp2(exponents.double() - 127).movedim(axis - 1, -2).flatten(-2)  # pairs add a dimension
    return pairs.repeat_interleave(32, -1)[..., :size].movedim(-1, axis)


def dynamic(kind: torch.dtype, largest: float, mode: str | None) -> dict[str, float]:
    """Features of all ranks, quantised by rows and multiplied."""
    rows, inner, columns = 4 * RANKS, 6, 5
    x, bias = [t.bfloat16() for t in drawn(rows, inner)], drawn(columns)
    weight, scale = [t.to(torch.float8_e4m3fn) for t in drawn(inner * RANKS, columns)], [t.abs() for t in drawn(columns)]
    part = slice(RANK * rows // RANKS, (RANK + 1) * rows // RANKS)
    features = torch.cat([t[part] for t in x], 1).double()
    by = features.abs().amax(1, keepdim=True) / largest
    by[by == 0] = 1
    expected = (features / by).to(kind).double() @ weight[RANK].double() * by * scale[RANK].double() + bias[RANK].double()
    got, exchanged = torch_npu.npu_all_to_all_quant_matmul(
        x[RANK].npu(), weight[RANK].npu(), NAME, RANKS, bias=bias[RANK].npu(), x2_scale=scale[RANK].npu(), all2all_axes=[-2, -1],
        x1_quant_dtype=E4M3 if kind == torch.float8_e4m3fn else None, comm_mode=mode,
    )  # fmt: skip
    return {f"{kind} rows, {mode}": error(got, expected), f"{kind} features, {mode}": error(exchanged, features)}


def values_of(codes: torch.Tensor) -> torch.Tensor:
    if codes.dtype != torch.uint8:
        return codes.double()
    numbers = torch.stack((codes & 15, codes >> 4), -1).flatten(-2).long()
    return HALVES[numbers & 7] * torch.where(numbers > 7, -1, 1)


def numbers(kind: int, *shape: int) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Numbers of a type for each rank, and what they are in float64."""
    if kind in (E4M3, E5M2):
        made = [t.to(torch.float8_e4m3fn if kind == E4M3 else torch.float8_e5m2) for t in drawn(*shape)]
        return made, [t.double() for t in made]
    if kind == E2M1:
        made = [torch.randint(256, (*shape[:-1], shape[-1] // 2), generator=GENERATOR).to(torch.uint8) for _ in range(RANKS)]
        return made, [values_of(t) for t in made]
    # HIFLOAT8: with two bits for the exponent's size, 1.0 and 1.5 and their negatives are these codes.
    of_codes = {0x08: 1.0, 0x0C: 1.5, 0x88: -1.0, 0x8C: -1.5, 0x00: 0.0}
    table, values = torch.tensor(list(of_codes), dtype=torch.uint8), torch.tensor(list(of_codes.values()), dtype=torch.float64)
    places = [torch.randint(len(of_codes), shape, generator=GENERATOR) for _ in range(RANKS)]
    return [table[p] for p in places], [values[p] for p in places]


def experts(kind: int, other: int, mode: str | None) -> dict[str, float]:
    rows, inner, columns, each = 4 * RANKS, 68, 6, 2
    x, exact = numbers(kind, rows, inner)
    weight, exact_weight = numbers(other, each, inner, columns)
    shared, exact_shared = numbers(kind, 3, inner)
    beside, exact_beside = numbers(other, inner, columns)
    pairs = (inner + 63) // 64
    if kind == HIF8:
        # Each factor has one scale, that of the rank that multiplies.
        scales = [[t.abs() for t in drawn(1)] for _ in range(4)]
        of_x, of_weight, of_shared, of_beside = ([t.double() for t in of] for of in scales)
        exact_weight = [t * a * b for t, a, b in zip(exact_weight, of_x, of_weight, strict=True)]
        exact_beside = [t * a * b for t, a, b in zip(exact_beside, of_shared, of_beside, strict=True)]
    else:
        scales = [powers(rows, pairs, 2), powers(each, pairs, columns, 2), powers(3, pairs, 2), powers(pairs, columns, 2)]
        exact, exact_weight, exact_shared, exact_beside = (
            [t * spread(s, axis, inner) for t, s in zip(of, by, strict=True)]
            for of, by, axis in zip((exact, exact_weight, exact_shared, exact_beside), scales, (-1, -2, -1, -2), strict=True)
        )
    counts = torch.full((RANKS, each * RANKS), rows // (each * RANKS))
    counts[:, 0] += 1
    counts[:, -1] -= 1
    sent, ends = counts[RANK].tolist(), counts.cumsum(1)
    received = counts[:, each * RANK : each * RANK + each].flatten().tolist()

    def rows_for(of: list[torch.Tensor], expert: int) -> list[torch.Tensor]:
        return [t[ends[r, expert] - counts[r, expert] : ends[r, expert]] for r, t in enumerate(of)]

    types = {f"{name}_dtype": own for name, own in {"gmm_x": kind, "gmm_weight": other, "mm_x": kind, "mm_weight": other}.items()}
    if kind != HIF8:
        types |= {f"{name}_scale_dtype": E8M0 for name in ("gmm_x", "gmm_weight", "mm_x", "mm_weight")}
    modes = dict.fromkeys([f"{name}_quant_mode" for name in ("gmm_x", "gmm_weight", "mm_x", "mm_weight")], 1 if kind == HIF8 else 6)
    own = {"gmm_y_dtype": torch.float16, "mm_y_dtype": torch.float16, "comm_mode": mode, **types, **modes}
    more = {
        "mm_x": shared[RANK].npu(), "mm_weight": beside[RANK].npu(), "mm_x_scale": scales[2][RANK].npu(),
        "mm_weight_scale": scales[3][RANK].npu()
    }  # fmt: skip
    operands = [x[RANK].npu(), weight[RANK].npu(), scales[0][RANK].npu(), scales[1][RANK].npu(), NAME, RANKS]
    made, product, permuted = torch_npu.npu_alltoallv_quant_gmm(*operands, sent, received, permute_out_flag=True, **more, **own)
    owned = range(each * RANK, each * RANK + each)
    codes, mine = ([torch.cat(rows_for(of, e)) for e in owned] for of in ([t.view(torch.uint8) for t in x], exact))
    assert permuted.cpu().view(torch.uint8).equal(torch.cat(codes))
    if kind != HIF8:
        operands[2] = torch.cat([torch.cat(rows_for(scales[0], e)) for e in owned]).npu()
    back, again = torch_npu.npu_quant_gmm_alltoallv(permuted, *operands[1:], received, sent, **more, **own)
    by_expert = [rows_for(exact, e)[RANK] @ exact_weight[e // each][e % each] for e in range(each * RANKS)]
    return {
        f"{kind} experts, {mode}": error(made, torch.cat([a @ b for a, b in zip(mine, exact_weight[RANK], strict=True)])),
        f"{kind} beside, {mode}": max(error(t, exact_shared[RANK] @ exact_beside[RANK]) for t in (product, again)),
        f"{kind} back, {mode}": error(back, torch.cat(by_expert)),
    }


for kind, largest, mode in ((torch.float8_e4m3fn, 448.0, None), (torch.float8_e5m2, 57344.0, "ccu")):
    print(json.dumps(dynamic(kind, largest, mode)), flush=True)
for first, second, mode in ((HIF8, HIF8, None), (E4M3, E5M2, "ccu"), (E2M1, E2M1, None)):
    print(json.dumps(experts(first, second, mode)), flush=True)
dist.destroy_process_group()
