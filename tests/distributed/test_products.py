"""Products of matrices whose operands or results are spread over ranks: aclnnMatmulAllReduce and its kin."""

import json
from pathlib import Path

import pytest

from support.entry_point import UNTOLD
from support.ranks import run_ranks


@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_products_over_ranks_are_rounded_once(count: int, tmp_path: Path) -> None:
    """They differ from float64 by at most one unit in the last place, where float32's sum lies on the other side of a half."""
    for rank in run_ranks("products", count, tmp_path):
        assert rank.returncode == 0, rank.stderr[-4000:]
        errors = {name: error for line in rank.stdout.splitlines() for name, error in json.loads(line).items()}
        assert len(errors) == 32
        assert {name: error for name, error in errors.items() if error > 1} == {}


def test_products_of_few_bits_over_ranks(tmp_path: Path) -> None:
    """On the 950, which alone has the types."""
    for rank in run_ranks("products_of_few_bits", 2, tmp_path, TORCH_ACLNN_HOST_SOC=UNTOLD[0]):
        assert rank.returncode == 0, rank.stderr[-4000:]
        errors = {name: error for line in rank.stdout.splitlines() for name, error in json.loads(line).items()}
        assert len(errors) == 13
        assert {name: error for name, error in errors.items() if error > 1} == {}


def test_ranks_with_different_shapes_are_told_so(tmp_path: Path) -> None:
    for rank in run_ranks("products", 2, tmp_path, "differ"):
        *_, message = rank.stdout.splitlines()
        expected = "rank 0: aclnnMatmulAllReduce of 3 float16, sum; rank 1: aclnnMatmulAllReduce of 6 float16, sum"
        assert expected in json.loads(message), rank.stderr[-4000:]
