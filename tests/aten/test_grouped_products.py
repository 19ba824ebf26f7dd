"""grouped_products.cpp: each group's product by its definition, in float64."""

import pytest
import torch
import torch_npu
from few_bits import four_bits, integers, words_of

from cases import DEVICE, FLOATS, close, there
from direct import call, failure, refusal

SIZES = [2, 0, 5, 1]


def by_rows(x, weights):
    """Rows of x, a group for each weight."""
    return torch.cat([rows.double() @ weight.double() for rows, weight in zip(x.split(SIZES), weights, strict=True)])


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("one_weight", [True, False])
@pytest.mark.parametrize("list_type", [0, 1])
def test_groups_of_rows(list_type, one_weight, dtype):
    x, weight, bias = torch.randn(8, 6).to(dtype), torch.randn(4, 6, 3).to(dtype), torch.randn(4, 3)
    bias = bias if dtype != torch.float16 else bias.half()
    sizes = torch.tensor(SIZES)
    (got,) = torch_npu.npu_grouped_matmul(
        there(x),
        there(weight) if one_weight else there(*weight),
        bias=there(bias) if one_weight else there(*bias),
        group_list=(sizes if list_type else sizes.cumsum(0)).to(DEVICE),
        split_item=3,
        group_type=0,
        group_list_type=list_type,
    )
    close(got, by_rows(x, weight) + bias.double().repeat_interleave(sizes, 0))


def test_rows_behind_the_last_group_are_left_alone():
    x, weight, y = torch.randn(5, 4), torch.randn(2, 4, 3), torch.full((5, 3), 7.0)
    out = y.to(DEVICE)
    empty = [None] * 5
    call("aclnnGroupedMatmulV3", tuple(there(x)), tuple(there(weight)), *empty, torch.tensor([1, 3]).to(DEVICE), 3, 0, (out,))
    close(out[:3], torch.cat((x[:1].double() @ weight[0].double(), x[1:3].double() @ weight[1].double())))
    assert out[3:].cpu().equal(y[3:])


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_groups_of_columns(dtype):
    """As gradients of weights are computed: x is a view of {rows, features} with its dimensions exchanged."""
    x, weight = torch.randn(8, 6).to(dtype), torch.randn(8, 3).to(dtype)
    ends = torch.tensor(SIZES).cumsum(0)
    (got,) = torch_npu.npu_grouped_matmul([x.to(DEVICE).T], there(weight), group_list=ends.to(DEVICE), split_item=3, group_type=2)
    pieces = zip(x.split(SIZES), weight.split(SIZES), strict=True)
    close(got, torch.stack([a.double().T @ b.double() for a, b in pieces]))


def test_lists_of_matrices():
    x, weight = [torch.randn(rows, 4) for rows in (2, 3)], [torch.randn(4, columns) for columns in (5, 6)]
    got = torch_npu.npu_grouped_matmul(there(*x), there(*weight), split_item=0, group_type=-1, group_list=None)
    for have, a, b in zip(got, x, weight, strict=True):
        close(have, a.double() @ b.double())


def test_ends_as_a_list_of_numbers():
    x, weight = torch.randn(8, 6), [torch.randn(6, 3) for _ in SIZES]
    ends = torch.tensor(SIZES).cumsum(0).tolist()
    got = torch_npu.npu_grouped_matmul(there(x), there(*weight), group_list=ends, split_item=0)
    assert [y.shape[0] for y in got] == SIZES
    close(torch.cat(got), by_rows(x, weight))
    (got,) = torch_npu.npu_grouped_matmul(there(x), there(*weight), group_list=ends, split_item=2)
    close(got, by_rows(x, weight))
    out = torch.zeros(8, 3, device=DEVICE)
    call("aclnnGroupedMatmulV2", tuple(there(x)), tuple(there(*weight)), *[None] * 5, ends, 3, 0, (out,))
    close(out, by_rows(x, weight))


ACTIVATIONS = {
    1: torch.relu,
    2: lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    4: lambda x: x * torch.sigmoid(1.702 * x),
    5: torch.nn.functional.silu,
}


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activation(activation):
    x, weight, out = torch.randn(8, 6), torch.randn(4, 6, 3), torch.zeros(8, 3, device=DEVICE)
    ends = torch.tensor(SIZES).cumsum(0).to(DEVICE)
    arguments = [tuple(there(x)), tuple(there(weight)), *[None] * 6, ends, None, None, None, 3, 0, 0, activation]
    call("aclnnGroupedMatmulV4", *arguments, (out,), None, None)
    close(out, ACTIVATIONS[activation](by_rows(x, weight)))


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_integers_with_a_scale_for_each_row_and_column(dtype, bits):
    make, stored = (integers, lambda t: t) if bits == 8 else (four_bits, words_of)
    x, weight, scale, rows = make(8, 16), make(4, 16, 8), torch.rand(4, 8).bfloat16() / 100, torch.rand(8)
    scale = scale if dtype == torch.bfloat16 else scale.float()
    (got,) = torch_npu.npu_grouped_matmul(
        there(stored(x)), there(stored(weight)), scale=there(scale), per_token_scale=there(rows), output_dtype=dtype,
        group_list=torch.tensor(SIZES).to(DEVICE), group_list_type=1, split_item=3, group_type=0,
    )  # fmt: skip
    expected = by_rows(x, weight) * scale.double().repeat_interleave(torch.tensor(SIZES), 0) * rows.double().unsqueeze(1)
    close(got, expected)


def test_groups_by_number():
    """Pairs of an expert and its number of rows."""
    x, weight = integers(5, 16), integers(4, 16, 8)
    pairs = torch.tensor([[2, 3], [0, 2], [1, 0], [3, 0]])
    (got,) = torch_npu.npu_grouped_matmul(
        there(x), there(weight), scale=there(torch.ones(4, 8)), per_token_scale=there(torch.ones(5)), output_dtype=torch.float16,
        group_list=pairs.to(DEVICE), group_list_type=2, split_item=3, group_type=0,
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
    (got,) = torch_npu.npu_grouped_matmul(
        there(x), there(stored), antiquant_scale=there(shape(scale)), antiquant_offset=there(shape(offset)),
        group_list=torch.tensor(SIZES).to(DEVICE), group_list_type=1, split_item=3, group_type=0,
    )  # fmt: skip
    each = [t.double().repeat_interleave(16 // groups, 1) for t in (scale, offset)]
    close(got, by_rows(x, (weight.double() + each[1]) * each[0]))


def test_groups_that_reach_beyond_x_are_found():
    x, weight, out = torch.randn(5, 4), torch.randn(2, 4, 3), torch.zeros(5, 3, device=DEVICE)
    ends = torch.tensor([1, 6]).to(DEVICE)
    code, message = failure("aclnnGroupedMatmulV3", tuple(there(x)), tuple(there(weight)), *[None] * 5, ends, 3, 0, (out,))
    assert code != 0 and "groupList: expected groups that lie in 5 rows" in message


def test_an_offset_is_refused():
    x, weight, out = there(torch.randn(5, 4), torch.randn(2, 4, 3), torch.zeros(5, 3))
    code, message = refusal("aclnnGroupedMatmulV3", (x,), (weight,), None, None, (out,), None, None, None, 3, 0, (out,))
    assert code == 161002 and "offset: expected null or an empty list" in message


def test_sums_of_gradients():
    x, weight, sums = torch.randn(8, 6).half(), torch.randn(8, 3).half(), torch.randn(4, 6, 3)
    there_ = sums.to(DEVICE)
    torch_npu.npu_grouped_matmul_add_(there_, *there(x, weight, torch.tensor(SIZES).cumsum(0)))
    pieces = zip(x.split(SIZES), weight.split(SIZES), strict=True)
    close(there_, sums.double() + torch.stack([a.double().T @ b.double() for a, b in pieces]))
