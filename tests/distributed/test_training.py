"""Training over several ranks."""

from pathlib import Path

from support.ranks import run_ranks


def test_data_parallel_gradients_equal_those_of_the_joined_batch(tmp_path: Path) -> None:
    for rank in run_ranks("training", 2, tmp_path):
        assert rank.returncode == 0, rank.stderr[-4000:]
        assert float(rank.stdout) < 1e-6
