"""Random sizes, dtypes and layouts of cases, which are equal for equal seeds."""

import math
import random
from typing import Any

import torch

SMALLEST_BYTES, LARGEST_BYTES = 2**10, 2**26
DTYPES = (torch.float32, torch.bfloat16, torch.float16)


class Draw:
    """Draws the parts of one case."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def choice(self, values: Any) -> Any:
        """Return one of the values."""
        return self._random.choice(values)

    def chance(self, share: float) -> bool:
        """Return True with this probability."""
        return self._random.random() < share

    def size(self, smallest: int, largest: int) -> int:
        """Return an integer whose logarithm is evenly distributed."""
        return min(largest, int(smallest * (largest / smallest + 1 / smallest) ** self._random.random()))

    def layout(self, plane_dims: int, smallest_plane: int, largest_plane: int) -> dict[str, Any]:
        """Return the shape, dtype and layout of a tensor of SMALLEST_BYTES to LARGEST_BYTES, with nearly square planes."""
        dtype = self.choice(DTYPES)
        elements = self.size(SMALLEST_BYTES, LARGEST_BYTES) // dtype.itemsize
        side = self.size(smallest_plane, max(smallest_plane, min(largest_plane, int(elements ** (1 / plane_dims)))))
        plane = tuple(max(smallest_plane, round(side * self._random.uniform(0.75, 1.33))) for _ in range(plane_dims))
        planes = max(1, elements // math.prod(plane))
        channels = min(planes, max(self.size(1, 2048), planes // 256))
        return {"shape": (planes // channels, channels, *plane), "dtype": dtype, "channels_last": self.chance(1 / 3) and plane_dims > 1}
