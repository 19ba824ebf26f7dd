"""collective_matmul.cpp on one rank, whose sum and rows are its own; tests/distributed/test_products.py has more of them."""

import pytest
from arguments import COMMUNICATOR
from checks import HALVES, check, drawn

SUM = (COMMUNICATOR, b"sum")
X, WEIGHT, BIAS, MORE = drawn(4, 6), drawn(6, 5), drawn(5), drawn(4, 5)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize(("name", "between", "more", "results"), [
    ("MatmulAllReduce", (), (*SUM, 0, 1), 1),
    ("MatmulAllReduceV2", (MORE,), (*SUM, 0, 1), 1),
    ("MatmulAllReduceV3", (MORE,), (*SUM, b"", 0, 1), 1),
    ("MatmulReduceScatter", (), (*SUM, 0, 1), 1),
    ("AllGatherMatmul", (), (COMMUNICATOR, 0, 0, 1), 2),
])  # fmt: skip
def test_products_on_one_rank(name, between, more, results, dtype):
    x, weight, bias, *added = (one.to(dtype) for one in (X, WEIGHT, BIAS, *between))
    exact = x.double() @ weight.double() + bias.double() + sum(one.double() for one in added)
    check(f"aclnn{name}", (x, weight, bias, *added, *more), *(exact, x.double())[:results])
