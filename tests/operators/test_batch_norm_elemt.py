"""Batch norm's element-wise gradient against its formula, through aclnnBatchNormElemtBackward and the same kernels on cpu."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from support import layouts
from support.families.batch_norm import tensor_gradient

op = torch.ops.torch_aclnn.batch_norm_elemt_backward

SHAPES = [(4, 3), (4, 3, 5), (2, 3, 4, 5), (2, 1, 3, 4, 5), (2, 3, 1, 2, 1, 2, 1, 2)]


def sample(shape, dtype=torch.float32, statistics=torch.float32, weighted=True) -> list:
    """The operator's arguments: grad_out, input, mean, invstd, weight, sum_dy, sum_dy_xmu, count."""
    channels = shape[1]
    vector = lambda: torch.randn(channels, dtype=statistics)
    return [
        torch.randn(shape, dtype=dtype),
        torch.randn(shape, dtype=dtype),
        vector(),
        torch.rand(channels).add(0.5).to(statistics),
        vector() if weighted else None,
        vector(),
        vector(),
        torch.tensor([3, 5], dtype=torch.int32),
    ]


def to(device: str, arguments: list) -> list:
    return [None if t is None else t.to(device) for t in arguments]


def scale(arguments: list) -> torch.Tensor:
    """The magnitude of what the formula adds up, which bounds the rounding of terms that cancel."""
    magnitudes = [None if t is None else t.double().abs() for t in arguments]
    dy, x, mean, *rest = magnitudes
    return tensor_gradient(-dy, x, -mean, *rest).abs()


@pytest.mark.parametrize("layout", [layouts.contiguous, layouts.transposed, layouts.offset_and_gaps])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("shape", SHAPES)
def test_gradient_is_the_formula_rounded_once(device, dtype, shape, layout):
    arguments = sample(shape, dtype)
    arguments[:2] = [layout(t) for t in arguments[:2]]
    grad_input = op(*to(device, arguments))
    exact = tensor_gradient(*arguments)
    assert grad_input.dtype == dtype and grad_input.device.type == device
    if dtype == torch.float32:
        assert ((grad_input.cpu().double() - exact).abs() <= scale(arguments) * 2**-21).all()
    else:
        eps = torch.finfo(dtype).eps
        assert ((grad_input.cpu().double() - exact).abs() <= exact.abs() * eps + scale(arguments) * 2**-21).all()


def test_worked_example(device):
    dy = torch.ones(2, 3, 1, 4)
    vectors = [torch.tensor(v, dtype=torch.float32) for v in ([8, 5, 9], [2, 1, 2], [1, 1, 4], [2, 2, 6], [2, 3, 11])]
    grad_input = op(*to(device, [dy, dy, *vectors, torch.tensor([5, 5, 5], dtype=torch.int32)]))
    expected = torch.tensor([9.2, 5 / 3, 192 + 8 / 15]).view(1, 3, 1, 1).expand(2, 3, 1, 4)
    torch.testing.assert_close(grad_input.cpu(), expected)


@pytest.mark.parametrize("count", [torch.tensor([8], dtype=torch.int32), torch.tensor([[3.0], [5.0]]), torch.tensor(8.0).half()])
def test_count_is_summed_whatever_its_shape_and_type(device, count):
    arguments = sample((2, 3, 4))
    torch.testing.assert_close(op(*to(device, [*arguments[:-1], count])).cpu(), op(*arguments))


def test_no_weight_means_ones(device):
    arguments = sample((2, 3, 4))
    ones = [*arguments[:4], torch.ones(3), *arguments[5:]]
    none = [*arguments[:4], None, *arguments[5:]]
    assert torch.equal(op(*to(device, none)).cpu(), op(*to(device, ones)).cpu())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_input_with_float32_statistics_and_the_other_way_round(device, dtype):
    for first, second in ((dtype, torch.float32), (torch.float32, dtype)):
        arguments = sample((2, 3, 4), first, second)
        exact = tensor_gradient(*arguments)
        bound = exact.abs() * torch.finfo(first).eps + scale(arguments) * 2**-21
        assert ((op(*to(device, arguments)).cpu().double() - exact).abs() <= bound).all()


@settings(max_examples=30)
@given(shape=st.lists(st.integers(1, 5), min_size=2, max_size=8).filter(lambda s: math.prod(s) < 2000), weighted=st.booleans())
def test_any_shape_matches_the_formula(shape, weighted):
    arguments = sample(shape, weighted=weighted)
    exact = tensor_gradient(*arguments)
    for device in ("cpu", "npu"):
        assert ((op(*to(device, arguments)).cpu().double() - exact).abs() <= scale(arguments) * 2**-21).all()


def test_same_bits_as_the_operator_of_torch_npu():
    for shape in SHAPES[1:4]:
        arguments = to("npu", sample(shape))
        arguments[-1] = torch.tensor([[3.0], [5.0]]).npu()
        assert torch.equal(op(*arguments).cpu(), torch.batch_norm_backward_elemt(*arguments).cpu())


def test_an_empty_batch_gives_an_empty_gradient(device):
    assert op(*to(device, sample((0, 3, 4)))).shape == (0, 3, 4)


def test_out_receives_the_result_in_its_own_strides(device):
    arguments = to(device, sample((2, 3, 4, 5)))
    out = layouts.offset_and_gaps(torch.zeros(2, 3, 4, 5, device=device))
    op.out(*arguments, out=out)
    assert torch.equal(out.cpu(), op(*arguments).cpu())


@pytest.mark.parametrize(
    ("position", "value"),
    [
        (0, torch.zeros(2, 3, 5)),
        (1, torch.zeros(3)),
        (2, torch.zeros(4)),
        (4, torch.zeros(3, 1)),
        (7, torch.zeros(0)),
        (5, torch.zeros(3).long()),
    ],
)
def test_the_operator_refuses_what_does_not_fit(device, position, value):
    arguments = sample((2, 3, 4))
    arguments[position] = value
    with pytest.raises(RuntimeError, match="expected"):
        op(*to(device, arguments))
