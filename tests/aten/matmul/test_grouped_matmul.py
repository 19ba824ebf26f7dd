"""grouped_matmul.cpp against definitions in float64."""

import pytest
import torch
import torch_npu
from checks import DEVICE, FLOATS, check, close, drawn, on_npu
from few_bits import four_bits, integers, words_of

from direct import call, fails
from support.communicator import one_rank

OWN = b"a rank alone"
SIZES = [2, 0, 5, 1]


def by_rows(x, weights):
    """Rows of x, a group for each weight."""
    return torch.cat([rows.double() @ weight.double() for rows, weight in zip(x.split(SIZES), weights, strict=True)])


def by_columns(x, weight):
    """Return a product for each group of rows, which x and the weight have in common."""
    return torch.stack([a.double().T @ b.double() for a, b in zip(x.split(SIZES), weight.split(SIZES), strict=True)])


ACTIVATIONS = {
    1: torch.relu,
    2: lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    4: lambda x: x * torch.sigmoid(1.702 * x),
    5: torch.nn.functional.silu,
}


def test_gradient_of_a_bias_for_each_group():
    grad = drawn(6, 3)
    sums = torch.stack([grad[:1].sum(0), grad[1:4].sum(0), grad[4:].sum(0)])
    for version, groups, more in (("", [1, 4, 6], ()), ("V2", [1, 4, 6], (0,)), ("V2", [1, 3, 2], (1,))):
        check(f"aclnnGroupedBiasAddGrad{version}", (grad.float(), torch.tensor(groups).int(), *more), sums)
    check("aclnnGroupedBiasAddGrad", (grad.float().view(2, 3, 3), None), grad.view(2, 3, 3).sum(1))


def test_grouped_products_of_ranks():
    x, weight = (drawn(2, 4).half(), drawn(3, 5).half()), (drawn(4, 3).half(), drawn(5, 2).half())
    outs = tuple(torch.empty(a.size(0), b.size(1), dtype=torch.float16, device=DEVICE) for a, b in zip(x, weight, strict=True))
    with one_rank(OWN):
        call("aclnnGroupedMatMulAllReduce", x, weight, None, None, 0, OWN, b"sum", 0, 1, outs)
    close(outs, [a.double() @ b.double() for a, b in zip(x, weight, strict=True)])


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("one_weight", [True, False])
@pytest.mark.parametrize("list_type", [0, 1])
def test_groups_of_rows(list_type, one_weight, dtype):
    x, weight, bias = torch.randn(8, 6).to(dtype), torch.randn(4, 6, 3).to(dtype), torch.randn(4, 3)
    bias = bias if dtype != torch.float16 else bias.half()
    sizes = torch.tensor(SIZES)
    (got,) = on_npu(
        torch_npu.npu_grouped_matmul, [x], [weight] if one_weight else list(weight), bias=[bias] if one_weight else list(bias),
        group_list=(sizes if list_type else sizes.cumsum(0)), split_item=3, group_type=0, group_list_type=list_type,
    )  # fmt: skip
    close(got, by_rows(x, weight) + bias.double().repeat_interleave(sizes, 0))


def test_groups_of_some_rows():
    """Rows behind the last one are left alone; a group that reaches beyond x is found."""
    x, weight, out = torch.randn(5, 4), torch.randn(2, 4, 3), torch.full((5, 3), 7.0, device=DEVICE)
    call("aclnnGroupedMatmulV3", (x,), (weight,), *[None] * 5, torch.tensor([1, 3]), 3, 0, (out,))
    close(out[:3], torch.cat((x[:1].double() @ weight[0].double(), x[1:3].double() @ weight[1].double())))
    assert (out[3:] == 7).all()
    beyond = (x,), (weight,), *[None] * 5, torch.tensor([1, 6]), 3, 0, (out,)
    fails("groupList: expected groups that lie in 5 rows", "aclnnGroupedMatmulV3", *beyond, code=161002)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_groups_of_columns(dtype):
    """Gradients of weights are computed so: x is a view of {rows, features} with its dimensions exchanged."""
    x, weight = torch.randn(8, 6).to(dtype), torch.randn(8, 3).to(dtype)
    ends = torch.tensor(SIZES).cumsum(0)
    (got,) = on_npu(torch_npu.npu_grouped_matmul, [x.T], [weight], group_list=ends, split_item=3, group_type=2)
    close(got, by_columns(x, weight))


def test_lists_of_matrices():
    x, weight = [torch.randn(rows, 4) for rows in (2, 3)], [torch.randn(4, columns) for columns in (5, 6)]
    got = on_npu(torch_npu.npu_grouped_matmul, x, weight, split_item=0, group_type=-1, group_list=None)
    close(got, [a.double() @ b.double() for a, b in zip(x, weight, strict=True)])


def test_ends_as_a_list_of_numbers():
    x, weight = torch.randn(8, 6), [torch.randn(6, 3) for _ in SIZES]
    ends = torch.tensor(SIZES).cumsum(0).tolist()
    got = on_npu(torch_npu.npu_grouped_matmul, [x], list(weight), group_list=ends, split_item=0)
    assert [y.shape[0] for y in got] == SIZES
    close(torch.cat(got), by_rows(x, weight))
    (got,) = on_npu(torch_npu.npu_grouped_matmul, [x], list(weight), group_list=ends, split_item=2)
    close(got, by_rows(x, weight))
    out = torch.zeros(8, 3, device=DEVICE)
    call("aclnnGroupedMatmulV2", (x,), tuple(weight), *[None] * 5, ends, 3, 0, (out,))
    close(out, by_rows(x, weight))


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activation(activation):
    x, weight, out = torch.randn(8, 6), torch.randn(4, 6, 3), torch.zeros(8, 3, device=DEVICE)
    options = *[None] * 6, torch.tensor(SIZES), None, None, None, 3, 0, 1, activation
    call("aclnnGroupedMatmulV4", (x,), (weight,), *options, (out,), None, None)
    close(out, ACTIVATIONS[activation](by_rows(x, weight)))


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_integers_with_a_scale_for_each_row_and_column(dtype, bits):
    make, stored = (integers, lambda t: t) if bits == 8 else (four_bits, words_of)
    x, weight, scale, rows = make(8, 16), make(4, 16, 8), torch.rand(4, 8).bfloat16() / 100, torch.rand(8)
    scale = scale if dtype == torch.bfloat16 else scale.float()
    (got,) = on_npu(
        torch_npu.npu_grouped_matmul, [stored(x)], [stored(weight)], scale=[scale], per_token_scale=[rows], output_dtype=dtype,
        group_list=torch.tensor(SIZES), group_list_type=1, split_item=3, group_type=0,
    )  # fmt: skip
    close(got, by_rows(x, weight) * scale.double().repeat_interleave(torch.tensor(SIZES), 0) * rows.double().unsqueeze(1))


def test_groups_by_number():
    """Pairs of an expert and its number of rows."""
    x, weight = integers(5, 16), integers(4, 16, 8)
    pairs = torch.tensor([[2, 3], [0, 2], [1, 0], [3, 0]])
    (got,) = on_npu(
        torch_npu.npu_grouped_matmul, [x], [weight], scale=[torch.ones(4, 8)], per_token_scale=[torch.ones(5)], output_dtype=torch.float16,
        group_list=pairs, group_list_type=2, split_item=3, group_type=0,
    )  # fmt: skip
    expected = torch.cat((x[:3].double() @ weight[2].double(), x[3:].double() @ weight[0].double()))
    close(got, expected.half().double())


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("bits", [8, 4])
def test_weights_of_few_bits(bits, groups):
    x, weight = torch.randn(8, 16).half(), (integers if bits == 8 else four_bits)(4, 16, 8)
    scale, offset = (t.half() for t in (torch.rand(4, groups, 8) / 50, torch.randn(4, groups, 8)))
    stored = weight if bits == 8 else words_of(weight)
    shape = (lambda t: t.squeeze(1)) if groups == 1 else (lambda t: t)
    (got,) = on_npu(
        torch_npu.npu_grouped_matmul, [x], [stored], antiquant_scale=[shape(scale)], antiquant_offset=[shape(offset)],
        group_list=torch.tensor(SIZES), group_list_type=1, split_item=3, group_type=0,
    )  # fmt: skip
    each = [t.double().repeat_interleave(16 // groups, 1) for t in (scale, offset)]
    close(got, by_rows(x, (weight.double() + each[1]) * each[0]))


def test_sums_of_gradients():
    x, weight, sums = torch.randn(8, 6).half(), torch.randn(8, 3).half(), torch.randn(4, 6, 3).to(DEVICE)
    expected = sums.cpu().double() + by_columns(x, weight)
    on_npu(torch_npu.npu_grouped_matmul_add_, sums, x, weight, torch.tensor(SIZES).cumsum(0))
    close(sums, expected)
    call("aclnnGroupedMatmulAddV2", x, weight, torch.tensor(SIZES), sums, True, False, 2, 1)
    close(sums, expected + by_columns(x, weight))


def test_grouped_products(in_blocks):
    x, weights, ends = torch.randn(8, 40).half(), torch.randn(4, 40, 20).half(), torch.tensor(SIZES).cumsum(0)
    (got,) = on_npu(torch_npu.npu_grouped_matmul, [x], [in_blocks(weights)], group_list=ends, split_item=2, group_type=0)
    close(got, by_rows(x, weights))
