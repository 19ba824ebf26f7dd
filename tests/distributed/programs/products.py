"""Products of matrices over ranks, by torch_npu's operators; prints how far each is from float64's, as JSON."""

import json
import os
import sys
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
import torch_npu
from torch.utils._pytree import tree_leaves, tree_map

RANK, RANKS = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.npu.set_device(RANK)
dist.init_process_group("hccl", init_method=sys.argv[1], rank=RANK, world_size=RANKS)
NAME = dist.group.WORLD._get_backend(torch.device("npu")).get_hccl_comm_name(RANK)  # type: ignore[union-attr]


def operands(dtype: torch.dtype, rows: int) -> list[list[torch.Tensor]]:
    """Return x1, x2, bias and x3 of each rank, the same on all."""
    generator = torch.Generator().manual_seed(3)
    shapes = ((rows, 6), (6, 5), (5,), (rows, 5))
    return [[torch.randn(shape, generator=generator).to(dtype) for shape in shapes] for _ in range(RANKS)]


def error(got: torch.Tensor, expected: torch.Tensor) -> float:
    """Return the difference from the rounded number, in units of the last place of the greatest."""
    assert got.shape == expected.shape, (got.shape, expected.shape)
    difference = (got.cpu().double() - expected.to(got.dtype).double()).abs().max().item()
    return difference / (expected.abs().max().item() * torch.finfo(got.dtype).eps)


def without_data(value: Any) -> Any:
    return torch.empty_like(value, device="meta") if isinstance(value, torch.Tensor) else value


def as_described(operator: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return the results of an operator, whose shapes and data types are those that torch_npu describes without data.

    A result that is not asked for is None on the device, and is described as None or as an empty tensor.
    """
    given, described = operator(*args, **kwargs), operator(*tree_map(without_data, args), **tree_map(without_data, kwargs))
    for result, description in zip(tree_leaves(given), tree_leaves(described), strict=True):
        if result is None:
            assert description is None or description.numel() == 0, description
        else:
            assert (result.shape, result.dtype) == (description.shape, description.dtype)
    return given


def results(dtype: torch.dtype, rows: int) -> dict[str, float]:
    ranks = operands(dtype, rows)
    x1, x2, bias, x3 = (tensor.npu() for tensor in ranks[RANK])
    own: dict[str, Any] = {"bias": bias, "reduce_op": "sum"}
    exact = [[tensor.double() for tensor in tensors] for tensors in ranks]
    summed = sum(a @ b for a, b, *_ in exact) + sum(c for _, _, c, _ in exact)
    all_rows = torch.cat([a for a, *_ in exact])
    part = slice(RANK * rows // RANKS, (RANK + 1) * rows // RANKS)
    gathered_product, gathered = as_described(torch_npu.npu_all_gather_base_mm, x1, x2, NAME, RANKS, bias=bias, gather_output=True)
    scattered = as_described(torch_npu.npu_mm_reduce_scatter_base, x1, x2, NAME, RANKS, **own)
    # The second operand is passed transposed, as the weight of torch.nn.Linear is.
    transposed = x2.t().contiguous().t()
    return {
        "all reduce": error(torch_npu.npu_mm_all_reduce_base(x1, x2, NAME, **own), summed),
        "all reduce and x3": error(
            torch_npu.npu_mm_all_reduce_base(x1, transposed, NAME, x3=x3, **own), summed + sum(d for *_, d in exact)
        ),
        "all reduce of a batch": error(
            torch_npu.npu_mm_all_reduce_base(x1.view(2, rows // 2, 6), x2, NAME, **own), summed.view(2, rows // 2, 5)
        ),
        "reduce scatter": error(scattered, summed[part]),
        "all gather": error(gathered_product, all_rows @ exact[RANK][1] + exact[RANK][2]),
        "gathered": error(gathered, all_rows),
    }


def exchanged(dtype: torch.dtype, rows: int) -> dict[str, float]:
    """Return the errors of products before and behind an exchange between all ranks."""
    generator = torch.Generator().manual_seed(4)
    shapes = ((rows, 6), (6 * RANKS, 5), (6, 4 * RANKS), (2, 6, 5), (3, 4), (4, 2))
    ranks = [[torch.randn(shape, generator=generator).to(dtype) for shape in shapes] for _ in range(RANKS)]
    x, joined, wide, experts, shared, weight = (tensor.npu() for tensor in ranks[RANK])
    exact = [[tensor.double() for tensor in tensors] for tensors in ranks]
    part = slice(RANK * rows // RANKS, (RANK + 1) * rows // RANKS)
    features = torch.cat([a[part] for a, *_ in exact], 1)
    product, all_features = as_described(torch_npu.npu_all_to_all_matmul, x, joined, NAME, RANKS)
    columns = slice(4 * RANK, 4 * RANK + 4)
    # Each rank sends this number of rows to each expert; a rank has two experts.
    counts = torch.full((RANKS, 2 * RANKS), rows // (2 * RANKS))
    counts[:, 0] += 1
    counts[:, -1] -= 1
    sent, ends = counts[RANK].tolist(), counts.cumsum(1)
    received = counts[:, 2 * RANK : 2 * RANK + 2].flatten().tolist()

    def rows_for(expert: int) -> list[torch.Tensor]:
        return [a[ends[r, expert] - counts[r, expert] : ends[r, expert]] for r, (a, *_) in enumerate(exact)]

    own = [torch.cat(rows_for(2 * RANK + e)) for e in range(2)]
    made, beside, permuted = as_described(
        torch_npu.npu_alltoallv_gmm, x, experts, NAME, RANKS, sent, received, mm_x=shared, mm_weight=weight, permute_out_flag=True
    )
    back, _ = as_described(torch_npu.npu_gmm_alltoallv, permuted, experts, NAME, RANKS, received, sent)
    by_expert = [rows_for(e)[RANK] @ exact[e // 2][3][e % 2] for e in range(2 * RANKS)]
    return {
        "features of ranks": error(all_features, features),
        "all to all and product": error(product, features @ exact[RANK][1]),
        "product and all to all": error(
            as_described(torch_npu.npu_matmul_all_to_all, x, wide, NAME, RANKS), torch.cat([a @ b[:, columns] for a, _, b, *_ in exact])
        ),
        "rows for experts": error(permuted, torch.cat(own)),
        "products of experts": error(made, torch.cat([a @ b for a, b in zip(own, exact[RANK][3], strict=True)])),
        "a product beside": error(beside, exact[RANK][4] @ exact[RANK][5]),
        "products of experts and back": error(back, torch.cat(by_expert)),
    }


def quantised() -> dict[str, float]:
    """Products of INT8, or by a weight of INT8; float16 is what they give."""
    generator = torch.Generator().manual_seed(5)
    rows = 2 * RANKS

    def integers(*shape: int) -> torch.Tensor:
        return torch.randint(-20, 20, shape, generator=generator, dtype=torch.int8)

    ranks = [
        [integers(rows, 6), integers(6, 5), torch.rand(5, generator=generator), torch.rand(rows, generator=generator),
         torch.randn(rows, 6, generator=generator).half(), torch.randn(rows, 5, generator=generator).half()]
        for _ in range(RANKS)
    ]  # fmt: skip
    x1, x2, columns, of_rows, x, x3 = (tensor.npu() for tensor in ranks[RANK])
    exact = [[tensor.double() for tensor in tensors] for tensors in ranks]
    scaled = [(a @ b * c) * d.unsqueeze(1) for a, b, c, d, *_ in exact]
    in_bits = torch_npu.npu_trans_quant_param(columns)
    part = slice(RANK * rows // RANKS, (RANK + 1) * rows // RANKS)
    weight, offset = columns.half(), (columns * 2).half()
    wides = [(integers(6, 4 * RANKS), *torch.rand(2, 4 * RANKS, generator=generator)) for _ in range(RANKS)]
    wide, wide_columns, beside = (tensor.npu() for tensor in wides[RANK])
    spread, part_of_columns = [tuple(t.double() for t in tensors) for tensors in wides], slice(4 * RANK, 4 * RANK + 4)
    dequantised = [(b.double() + (c * 2).half().double()) * c.half().double() for _, b, c, *_ in ranks]
    return {
        "quantised": error(
            torch_npu.npu_mm_all_reduce_base(x1, x2, NAME, dequant_scale=in_bits, x3=x3), sum(a @ b * c + z for a, b, c, *_, z in exact)
        ),
        "quantised by rows": error(
            torch_npu.npu_mm_all_reduce_base(x1, x2, NAME, dequant_scale=columns.bfloat16(), pertoken_scale=of_rows),
            sum((a @ b * ranks[r][2].bfloat16().double()) * d.unsqueeze(1) for r, (a, b, _, d, *_) in enumerate(exact)),
        ),
        "weight": error(
            torch_npu.npu_mm_all_reduce_base(x, x2, NAME, antiquant_scale=weight, antiquant_offset=offset),
            sum(e[4] @ w for e, w in zip(exact, dequantised, strict=True)),
        ),
        "quantised and scattered": error(
            as_described(
                torch_npu.npu_quant_mm_reduce_scatter,
                x1,
                x2,
                NAME,
                RANKS,
                x1_scale=of_rows.unsqueeze(1),
                x2_scale=columns,
                y_dtype=torch.float16,
            )[0],
            sum(scaled)[part],  # type: ignore[index]
        ),
        "quantised columns of ranks": error(
            torch_npu.npu_quant_matmul_all_to_all(
                x1, wide, NAME, RANKS, bias=beside, x1_scale=of_rows, x2_scale=wide_columns, y_dtype=torch.float16
            ),
            torch.cat(
                [((a @ w * c) * d.unsqueeze(1) + b)[:, part_of_columns] for (a, _, _, d, *_), (w, c, b) in zip(exact, spread, strict=True)]
            ),
        ),
        "gathered and quantised": error(
            torch_npu.npu_all_gather_quant_mm(x1, x2, NAME, RANKS, x1_scale=of_rows.unsqueeze(1), x2_scale=columns, y_dtype=torch.float16)[
                0
            ],
            torch.cat([(a @ exact[RANK][1] * exact[RANK][2]) * d.unsqueeze(1) for a, _, _, d, *_ in exact]),
        ),
    }


def refusal(rows: int) -> str:
    try:
        torch_npu.npu_mm_all_reduce_base(torch.ones(rows, 2).half().npu(), torch.ones(2, 3).half().npu(), NAME)
        torch.npu.synchronize()
    except RuntimeError as error:
        return str(error)
    return ""


for dtype in (torch.float16, torch.bfloat16):
    errors = results(dtype, 2 * RANKS) | exchanged(dtype, 4 * RANKS)
    print(json.dumps({f"{dtype} {name}": value for name, value in errors.items()}), flush=True)
print(json.dumps(quantised()), flush=True)
if "differ" in sys.argv:
    print(json.dumps(refusal(1 + RANK)), flush=True)
dist.destroy_process_group()
