"""linear_algebra.cpp against definitions in float64."""

import torch_aclnn
import pytest
import torch
import torch_npu
from checks import DEVICE, FLOATS, close, definitions, drawn, on_npu

from cases import LAYOUTS, randn, rows_with, table
from direct import call, fraction
from support.marks import CUBE_MATH_TYPE, of_a2_and_a3

product = rows_with(dtypes=FLOATS, layouts=LAYOUTS, close=True, upcast=True, backward=True)


def regular(a):
    return a + 4 * torch.eye(4, device=a.device)


def recomposed(u, s, vh):
    return u * s @ vh, s


A, B, BATCH, BATCH2 = randn(3, 4), randn(4, 5), randn(2, 3, 4), randn(2, 4, 5)
FLOAT_ALONE = {"dtypes": FLOATS[:1], "layouts": LAYOUTS[:1], "backward": False}
CASES = [
    *product("mm", torch.mm, A, B),
    *product("mm-inner-0", torch.mm, randn(3, 0), randn(0, 5)),
    *product("bmm", torch.bmm, BATCH, BATCH2),
    *product("matmul", torch.matmul, BATCH, B),
    *product("matmul-broadcast", torch.matmul, randn(2, 1, 3, 4), randn(3, 4, 5)),
    *product("matmul-vector", torch.matmul, BATCH, randn(4)),
    *product("mv", torch.mv, A, randn(4), dtypes=FLOATS[:2]),
    *product("dot", torch.dot, randn(7), randn(7)),
    *product("addmm", lambda *x: torch.addmm(*x, beta=0.5, alpha=2.0), randn(3, 5), A, B),
    *product("addmm-bias", torch.addmm, randn(5), A, B),
    *product("addmm_", lambda s, a, b: (s * 1).addmm_(a, b, beta=0.5, alpha=2.0), randn(3, 5), A, B),
    *product("addmm-beta-0", lambda a, b: torch.addmm(a.new_full((3, 5), float("nan")), a, b, beta=0), A, B, backward=False),
    *product("baddbmm", lambda *x: torch.baddbmm(*x, beta=0.5, alpha=2.0), randn(2, 3, 5), BATCH, BATCH2),
    *product("addbmm", lambda *x: torch.addbmm(*x, beta=0.5, alpha=2.0), randn(3, 5), BATCH, BATCH2, backward=False),
    *product("addmv", lambda *x: torch.addmv(*x, beta=0.5, alpha=2.0), randn(3), A, randn(4), dtypes=FLOATS[:2]),
    *product("addr", lambda *x: torch.addr(*x, beta=0.5, alpha=2.0), A, randn(3), randn(4), dtypes=FLOATS[:2]),
    *product("addr_", lambda s, u, v: (s * 1).addr_(u, v, beta=0.5, alpha=2.0), A, randn(3), randn(4), backward=False),
    *product("inverse", lambda a: torch.inverse(regular(a)), randn(4, 4), **FLOAT_ALONE),
    *product("cross", lambda *x: torch.linalg.cross(*x, dim=1), *[BATCH] * 2, dtypes=(torch.float32, torch.int32), backward=False),
    *product("triangular_solve", lambda b, a: torch.triangular_solve(b, regular(a)), randn(4, 2), randn(4, 4), **FLOAT_ALONE),
    *product("qr-r", lambda a: torch.linalg.qr(a, "r")[1].abs(), randn(5, 3), **FLOAT_ALONE),
    *product("svd-values", torch.linalg.svdvals, randn(2, 4, 3), dtypes=FLOATS[:1], layouts=LAYOUTS[:1]),
    *product("svd", lambda a: recomposed(*torch.linalg.svd(a, full_matrices=False)), randn(4, 3), dtypes=FLOATS[:1], layouts=LAYOUTS[:1]),
    *product("svd-full", lambda a: recomposed(*torch.linalg.svd(a)), randn(3, 3), dtypes=FLOATS[:1], layouts=LAYOUTS[:1]),
    *product("pdist-1", lambda a: torch.pdist(a, 1.0), randn(5, 3), **FLOAT_ALONE),
]

test_torchs_functions = pytest.mark.filterwarnings("ignore")(table(CASES))
NPU = torch.ops.npu


def transposed_product(factor):
    """Return a row for {M, B, K} and {B, K, N}, whose product may be given in parts of the batches."""
    options = {"perm_x1": [1, 0, 2], "perm_x2": [0, 1, 2], "perm_y": [1, 0, 2], "batch_split_factor": factor}

    def exact(a, b):
        whole = torch.einsum("mbk,bkn->mbn", a, b)
        return whole if factor == 1 else whole.reshape(3, factor, -1).transpose(0, 1)

    return (lambda a, b: NPU.npu_transpose_batchmatmul(a, b, **options)), [drawn(3, 4, 5), drawn(4, 5, 2)], (), exact, FLOATS


test_definitions = definitions([*map(transposed_product, (1, 2))])


@pytest.mark.parametrize("some", [True, False])
def test_qr(some):
    a, columns = drawn(2, 4, 3), 3 if some else 4
    q, r = torch.empty(2, 4, columns, device=DEVICE), torch.empty(2, columns, 3, device=DEVICE)
    call("aclnnQr", a.float(), some, q, r)
    close(q @ r, a)
    close(q.mT @ q, torch.eye(columns, dtype=torch.float64).expand(2, -1, -1))
    assert r.cpu().tril(-1).eq(0).all()


def test_large_half_product_sums_in_float32():
    a, b = torch.rand(2, 4096).half(), torch.rand(4096, 2).half()
    exact = a.double() @ b.double()
    torch.testing.assert_close((a.npu() @ b.npu()).cpu(), exact.half(), rtol=0, atol=1.0)  # numbers there are 1 apart


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_sums_of_products_in_place(dtype):
    values, a, b = (one.to(dtype) for one in (drawn(2, 3, 5), drawn(2, 3, 4), drawn(2, 4, 5)))
    for name, start, product in (("Baddbmm", values, a.double() @ b.double()), ("Addbmm", values[0], (a.double() @ b.double()).sum(0))):
        there = start.to(DEVICE)
        call(f"aclnnInplace{name}", there, a, b, fraction(0.5), fraction(2), CUBE_MATH_TYPE)
        torch.testing.assert_close(there.cpu(), (0.5 * start.double() + 2 * product).to(dtype))


def test_permuted_products(in_blocks):
    x, weights = torch.randn(5, 3, 40).half(), torch.randn(3, 40, 20).half()
    got = on_npu(torch_npu.npu_transpose_batchmatmul, x, in_blocks(weights), perm_x1=[1, 0, 2], perm_y=[1, 0, 2])
    close(got, (x.double().transpose(0, 1) @ weights.double()).transpose(0, 1))
    assert "aclnnTransposeBatchMatMulWeightNz" in torch_aclnn.host.statistics().calls


@of_a2_and_a3
def test_matrices_and_vectors_of_bfloat16():
    matrix, vector = torch.randn(5, 300).bfloat16(), torch.randn(300).bfloat16()
    close(torch.mv(matrix.to(DEVICE), vector.to(DEVICE)), torch.mv(matrix.double(), vector.double()))
