"""alltoall_matmul.cpp on one rank, which keeps what it sends; tests/distributed/test_products.py has more of them."""

import pytest
import torch
from arguments import COMMUNICATOR
from checks import HALVES, check, drawn


@pytest.mark.parametrize("version", ["", "V2"])
@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_products_on_one_rank(dtype, version):
    x, weight, weights = (drawn(*sizes).to(dtype) for sizes in ((4, 6), (6, 5), (2, 6, 5)))
    mode = (b"",) if version else ()
    exact, where = x.double() @ weight.double(), (None, None, COMMUNICATOR, *mode)
    check(f"aclnnAlltoAllMatmul{version}", (x, weight, *where, False, False), exact, x.double())
    check(f"aclnnMatmulAlltoAll{version}", (x, weight.T.contiguous(), *where, False, True), exact)
    groups = torch.cat([x[:1].double() @ weights[0].double(), x[1:].double() @ weights[1].double()])
    arguments = (x, weights, None, None, x, weight, COMMUNICATOR, *mode, 1, [1, 3], [1, 3], False, False)
    check(f"aclnnAlltoAllvGroupedMatMul{version}", (*arguments, True), groups, exact, x.double())
    check(f"aclnnGroupedMatMulAlltoAllv{version}", arguments, groups, exact)
