"""linear_algebra.cpp: products and solvers."""

import ctypes

import pytest
import torch
import torch.nn.functional as F

from cases import DEVICE, FLOATS, LAYOUTS, randn, rows, table
from direct import call
from support.marks import CUBE_MATH_TYPE, of_a2_and_a3
from support.subprocesses import host_mode, output_of


def product(name, function, *inputs, **options):
    return rows(
        name, function, *inputs, **{"dtypes": FLOATS, "layouts": LAYOUTS, "close": True, "upcast": True, "backward": True} | options
    )


def signless(q, r):
    """The factors are unique but for the signs of q's columns."""
    return q @ r, r.abs(), q.mT @ q


def recomposed(u, s, vh):
    return u * s @ vh, s


A, B, BATCH, BATCH2 = randn(3, 4), randn(4, 5), randn(2, 3, 4), randn(2, 4, 5)

CASES = [
    *product("mm", torch.mm, A, B),
    *product("mm-transposed", lambda a, b: torch.mm(a.t(), b.t()), randn(4, 3), randn(5, 4)),
    *product("mm-empty", torch.mm, randn(0, 4), B),
    *product("mm-inner-0", torch.mm, randn(3, 0), randn(0, 5)),
    *product("mm-out", lambda a, b: torch.mm(a, b, out=a.new_empty(3, 5)), A, B, backward=False),
    *product("bmm", torch.bmm, BATCH, BATCH2),
    *product("matmul", torch.matmul, BATCH, B),
    *product("matmul-broadcast", torch.matmul, randn(2, 1, 3, 4), randn(3, 4, 5)),
    *product("matmul-vector", torch.matmul, BATCH, randn(4)),
    *product("matmul-vector-left", torch.matmul, randn(4), BATCH2),
    *product("mv", torch.mv, A, randn(4), dtypes=(torch.float32, torch.float16)),
    *product("dot", torch.dot, randn(7), randn(7)),
    *product("vdot", torch.vdot, randn(7), randn(7), dtypes=(torch.float32,), backward=False),
    *product("outer", torch.outer, randn(3), randn(4)),
    *product("addmm", lambda s, a, b: torch.addmm(s, a, b, beta=0.5, alpha=2.0), randn(3, 5), A, B),
    *product("addmm-bias", torch.addmm, randn(5), A, B),
    *product("addmm_", lambda s, a, b: (s * 1).addmm_(a, b, beta=0.5, alpha=2.0), randn(3, 5), A, B),
    *product("addmm-beta-0", lambda a, b: torch.addmm(a.new_full((3, 5), float("nan")), a, b, beta=0), A, B, backward=False),
    *product("baddbmm", lambda s, a, b: torch.baddbmm(s, a, b, beta=0.5, alpha=2.0), randn(2, 3, 5), BATCH, BATCH2),
    *product("baddbmm_", lambda s, a, b: (s * 1).baddbmm_(a, b, beta=0.5, alpha=2.0), randn(2, 3, 5), BATCH, BATCH2),
    *product("addbmm", lambda s, a, b: torch.addbmm(s, a, b, beta=0.5, alpha=2.0), randn(3, 5), BATCH, BATCH2, backward=False),
    *product(
        "addmv", lambda s, a, v: torch.addmv(s, a, v, beta=0.5, alpha=2.0), randn(3), A, randn(4), dtypes=(torch.float32, torch.float16)
    ),
    *product(
        "addr", lambda s, u, v: torch.addr(s, u, v, beta=0.5, alpha=2.0), A, randn(3), randn(4), dtypes=(torch.float32, torch.float16)
    ),
    *product("addr_", lambda s, u, v: (s * 1).addr_(u, v, beta=0.5, alpha=2.0), A, randn(3), randn(4), backward=False),
    *product("linear", F.linear, BATCH, randn(5, 4), randn(5)),
    *product("linear-no-bias", F.linear, BATCH, randn(5, 4)),
    *product("linear-2d", F.linear, A, randn(5, 4), randn(5)),
    *product("bilinear", F.bilinear, A, randn(3, 2), randn(6, 4, 2), randn(6), dtypes=(torch.float32,)),
    *product("einsum", lambda a, b: torch.einsum("bij,bjk->ik", a, b), BATCH, BATCH2),
    *product("inverse", lambda a: torch.inverse(a + 4 * torch.eye(4).to(a.device)), randn(4, 4), dtypes=(torch.float32,), backward=False),
    *product(
        "cross",
        lambda a, b: torch.linalg.cross(a, b, dim=1),
        randn(2, 3, 4),
        randn(2, 3, 4),
        dtypes=(torch.float32, torch.int32),
        backward=False,
    ),
    *product(
        "triangular_solve",
        lambda b, a: torch.triangular_solve(b, a + 4 * torch.eye(4).to(a.device)),
        randn(4, 2),
        randn(4, 4),
        dtypes=(torch.float32,),
        backward=False,
    ),
    *product("qr", lambda a: signless(*torch.linalg.qr(a)), randn(5, 3), dtypes=(torch.float32,), backward=False),
    *product("qr-complete", lambda a: signless(*torch.linalg.qr(a, "complete")), randn(5, 3), dtypes=(torch.float32,), backward=False),
    *product("qr-r", lambda a: torch.linalg.qr(a, "r")[1].abs(), randn(5, 3), dtypes=(torch.float32,), backward=False),
    *product("qr-batch", lambda a: torch.matmul(*torch.linalg.qr(a)), randn(2, 4, 3), dtypes=(torch.float32,)),
    *product("svd-values", torch.linalg.svdvals, randn(2, 4, 3), dtypes=(torch.float32,)),
    *product("svd", lambda a: recomposed(*torch.linalg.svd(a, full_matrices=False)), randn(4, 3), dtypes=(torch.float32,)),
    *product("svd-full", lambda a: recomposed(*torch.linalg.svd(a)), randn(3, 3), dtypes=(torch.float32,)),
    *product("pinv", torch.linalg.pinv, randn(4, 3), dtypes=(torch.float32,)),
    *product("pdist", torch.pdist, randn(5, 3), dtypes=(torch.float32,), backward=False),
    *product("pdist-1", lambda a: torch.pdist(a, 1.0), randn(5, 3), dtypes=(torch.float32,), backward=False),
]


@pytest.mark.filterwarnings("ignore")
@table(CASES)
def test_linear_algebra(case):
    case.check()


def test_large_half_product_sums_in_float32():
    a, b = torch.rand(2, 4096).half(), torch.rand(4096, 2).half()
    exact = a.double() @ b.double()
    torch.testing.assert_close((a.npu() @ b.npu()).cpu(), exact.half(), rtol=0, atol=1.0)  # neighbours are 1 apart there


@pytest.mark.parametrize("batches", [(1, 3), (3, 1), (3, 3), (1, 1), (0, 1)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_batch_matmul_broadcasts_a_batch_of_one(batches, dtype):
    left, right = torch.randn(batches[0], 2, 5).to(dtype), torch.randn(batches[1], 5, 4).to(dtype)
    exact = (left.double().unsqueeze(-1) * right.double().unsqueeze(-3)).sum(-2)
    out = torch.full(exact.shape, float("nan"), dtype=dtype).npu()
    call("aclnnBatchMatMul", left.npu(), right.npu(), out, ctypes.c_int8(CUBE_MATH_TYPE))
    torch.testing.assert_close(out.cpu(), exact.to(dtype))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("factor", [1, 2])
def test_transposed_batches_of_products(factor, dtype):
    a, b = torch.randn(3, 4, 5).to(dtype), torch.randn(4, 5, 2).to(dtype)  # M, B, K and B, K, N
    exact = torch.einsum("mbk,bkn->mbn", a.double(), b.double())
    if factor > 1:
        exact = exact.reshape(3, factor, -1).transpose(0, 1)
    got = torch.ops.npu.npu_transpose_batchmatmul(
        a.to(DEVICE), b.to(DEVICE), perm_x1=[1, 0, 2], perm_x2=[0, 1, 2], perm_y=[1, 0, 2], batch_split_factor=factor
    )
    torch.testing.assert_close(got.cpu(), exact.to(dtype))


ROUNDED = """
import torch, torch_aclnn
torch.npu.matmul.allow_hf32 = torch.npu.conv.allow_hf32 = {allowed}
one = torch.tensor([[1 + 2**-12 + 2**-20, 1 + 2**-12, 1 + 3 * 2**-12, -1 - 2**-12 - 2**-20, float("inf"), 2**-30]])
print((one.npu().t() @ torch.ones(1, 1).npu()).flatten().tolist())
print(torch.nn.functional.conv2d(one[:, None, None].npu(), torch.ones(1, 1, 1, 1).npu()).flatten().tolist())
"""


@of_a2_and_a3
@pytest.mark.parametrize("allowed", [True, False])
def test_products_round_as_hf32_has_it(allowed):
    """Eleven bits of the mantissa are left, and halfway cases go to even."""
    exact = [1 + 2**-12 + 2**-20, 1 + 2**-12, 1 + 3 * 2**-12, -1 - 2**-12 - 2**-20, float("inf"), 2**-30]
    rounded = [1 + 2**-11, 1.0, 1 + 2**-10, -1 - 2**-11, float("inf"), 2**-30]
    printed = output_of(ROUNDED.format(allowed=allowed), **host_mode("hf32")).splitlines()
    assert printed[-2:] == [str(rounded if allowed else exact)] * 2
