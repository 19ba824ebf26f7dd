"""Layers whose experts are on several ranks (npu_moe_distribute_dispatch and _combine), beside the same layer in one process."""

import dataclasses

import pytest
import torch

from support.expert_layer import Layer, Operands, expected
from support.rank_calls import call_in_ranks, values_of

TWO = Layer((5, 5))
LAYERS = [
    dataclasses.replace(TWO, version=1, dtype=torch.float16),
    TWO,
    Layer((3, 6)),
    dataclasses.replace(TWO, special=(1, 2, 2)),
    dataclasses.replace(TWO, masked=True, special=(0, 1, 1)),
    dataclasses.replace(TWO, quantised=True),
    Layer((4, 4), experts=2, shared_ranks=1, quantised=True),
    Layer((4, 4), experts=2, shared_ranks=1, masked=True),
    dataclasses.replace(TWO, normalised=True),
    dataclasses.replace(TWO, normalised=True, special=(1, 1, 1)),
]
FOUR = [Layer((4, 4, 4, 4), experts=6, shared_ranks=2), Layer((3, 1, 2, 4), experts=8, version=1)]


def compare(layer: Layer, rank: int, got: dict[str, torch.Tensor]) -> None:
    """One rounding to the data type away from float64."""
    want = expected(layer, rank)
    tolerance = {"rtol": torch.finfo(layer.dtype).eps, "atol": 1e-5}
    if not layer.normalised:
        return torch.testing.assert_close(got["out"].double(), want, **tolerance)
    given = Operands(layer)
    x = want + given.x[rank].double()
    rms = (x.square().mean(-1, keepdim=True) + 1e-6).sqrt()
    torch.testing.assert_close(got["x"].double().squeeze(1), x, **tolerance)
    torch.testing.assert_close(got["rstd"].double().squeeze(1), 1 / rms, rtol=1e-6, atol=0)
    torch.testing.assert_close(got["y"].double().squeeze(1), x / rms * given.gamma.double(), **tolerance)


@pytest.mark.parametrize("layers", [LAYERS, pytest.param(FOUR, marks=pytest.mark.slow)], ids=["2 ranks", "4 ranks"])
def test_layer_equals_that_of_one_process(layers: list[Layer]) -> None:
    ranks = len(layers[0].tokens)
    for rank, results in enumerate(values_of(call_in_ranks("support.expert_layer:run", ranks, layers, backend="hccl"))):
        for layer, got in zip(layers, results, strict=True):
            compare(layer, rank, got)


def test_rows_come_by_expert_and_then_by_rank() -> None:
    layer = Layer((3, 2))
    given = Operands(layer)
    tokens = [(number, rank, i) for rank in range(2) for i, row in enumerate(given.ids[rank].tolist()) for number in row]
    for rank, (got,) in enumerate(values_of(call_in_ranks("support.expert_layer:run", 2, [layer], backend="hccl"))):
        own = sorted(place for place in tokens if place[0] // 2 == rank)
        assert got["received"].equal(torch.stack([given.x[source][i] for _, source, i in own]))
        assert got["numbers"].tolist() == [sum(number == 2 * rank + e for number, *_ in own) for e in range(2)]


def test_experts_that_do_not_exist_and_counts_of_others_are_refused() -> None:
    for of_ids, of_counts in values_of(call_in_ranks("support.expert_layer:refusals", 2, backend="hccl")):
        assert "expertIds: expected experts from 0 to 1, got 2 to 3" in of_ids
        assert "epSendCounts: expected the running sums of what expertIds of all ranks say, which end with 4, got others" in of_counts
