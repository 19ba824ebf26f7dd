"""Tensors that the last cache of this machine does not hold."""

import math
from pathlib import Path

import pytest
import torch

SIZE = Path("/sys/devices/system/cpu/cpu0/cache/index3/size")


def count_beyond_the_cache(sample: tuple[int, ...], dtype: torch.dtype) -> int:
    """Return how many samples of such a size are larger than the last cache, with some to spare."""
    kilobytes = max(8192, int(SIZE.read_text().rstrip("K\n")) if SIZE.exists() else 0)
    if kilobytes > 131072:
        pytest.skip("a tensor larger than the last cache of this machine takes too much memory and time for a fast test")
    return kilobytes * 1024 // (math.prod(sample) * dtype.itemsize) + 2
