"""Results of all kernels on awkward inputs, to be compared between instruction sets; ``python instruction_sets.py FILE THREADS``."""

import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch_aclnn  # noqa: F401  (it must be imported before torch)
import torch
from torch import Tensor

from support.layouts import LAYOUTS
from support.operators import ROWS
from support.samples import awkward_values


def results() -> Iterator[Tensor]:
    """Everything, for each layout and dtype."""
    for layout in LAYOUTS:
        for row in ROWS.values():
            for dtype in row.operator.awkward_dtypes:
                yield from row.operator.awkward_results(layout, getattr(torch, dtype))
    yield from sums_of_batch_norm()


def sums_of_batch_norm() -> Iterator[Tensor]:
    """Return what batch norm's backward needs first, by a kernel of its own, in the engine."""
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x, grad = (awkward_values(3, 5, 37, dtype=dtype, seed=seed).nan_to_num().npu() for seed in (0, 1))
        mean = torch.linspace(-1, 1, 5).npu()
        yield from (t.cpu() for t in torch.batch_norm_backward_reduce(grad, x, mean, mean, mean, True, True, True))


if __name__ == "__main__":
    torch.set_num_threads(int(sys.argv[2]))
    torch.save([result.contiguous() for result in results()], sys.argv[1])
