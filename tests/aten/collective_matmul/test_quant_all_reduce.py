"""quant_all_reduce.cpp against definitions in float64."""

import torch
from checks import check, drawn

from direct import refuses
from support.communicator import one_rank

OWN = b"a rank alone"


def test_sums_over_ranks_of_scaled_numbers():
    x, scales = torch.randint(-9, 9, (2, 3, 256)).to(torch.int8), drawn(2, 3, 2).float()
    expected = x.double() * scales.double().repeat_interleave(128, -1)
    for name, sizes in (("aclnnQuantAllReduce", (2, 3, 256)), ("aclnnQuantReduceScatter", (6, 256))):
        with one_rank(OWN):
            check(name, (x, scales, OWN, b"sum"), expected.view(sizes), dtype=torch.float32)
            refuses("scales: expected shape [2, 3, 2]", name, x, torch.zeros(2, 3, 3), OWN, b"sum", torch.zeros(sizes))
