"""Results of all kernels on awkward inputs, to be compared between instruction sets; ``python instruction_sets.py FILE THREADS``."""

import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch_aclnn  # noqa: F401  (it must be imported before torch)
import torch
from torch import Tensor

from support.layouts import LAYOUTS
from support.operators import MODULES


def results() -> Iterator[Tensor]:
    """Everything, for each layout and dtype."""
    for layout in LAYOUTS:
        for module in MODULES:
            for dtype in module.OPERATOR.awkward_dtypes:
                yield from module.OPERATOR.awkward_results(layout, getattr(torch, dtype))


if __name__ == "__main__":
    torch.set_num_threads(int(sys.argv[2]))
    torch.save([result.contiguous() for result in results()], sys.argv[1])
