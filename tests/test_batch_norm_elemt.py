"""Batch norm's element-wise gradient against its formula, and batch norm as a whole, through aclnnBatchNormElemtBackward."""

import math

import torch_aclnn
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from support import layouts
from support.operators.batch_norm_elemt import tensor_gradient

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
    expected = op(*to(device, arguments))
    assert torch.equal(op(*to(device, [*arguments[:-1], count])).cpu(), expected.cpu())


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


@settings(max_examples=30, deadline=None)
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


def test_opcheck(device):
    arguments = to(device, sample((2, 3, 4, 5)))
    torch.library.opcheck(op.default, tuple(arguments))
    torch.library.opcheck(op.out, tuple(arguments), {"out": torch.empty(2, 3, 4, 5, device=device)})


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


def batch_norm(**options):
    return lambda x, w, b: torch_aclnn.functional.batch_norm(x, None, None, w, b, training=True, **options)


@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 5), (2, 3, 4, 5)])
@pytest.mark.parametrize("affine", [True, False])
def test_batch_norm_equals_torch(device, shape, affine):
    x = torch.randn(shape)
    parameters = [torch.rand(3) + 0.5, torch.randn(3)] if affine else [None, None]
    results = []
    for fn, where in ((torch.nn.functional.batch_norm, "cpu"), (torch_aclnn.functional.batch_norm, device)):
        inputs = [None if t is None else t.clone().to(where).requires_grad_() for t in (x, *parameters)]
        running = torch.zeros(3, device=where), torch.ones(3, device=where)
        y = fn(inputs[0], *running, *inputs[1:], training=True, momentum=0.3, eps=1e-3)
        (y * y.detach().sin()).sum().backward()
        results.append([t.detach().cpu() for t in (y, *running, *(i.grad for i in inputs if i is not None))])
    for theirs, ours in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_batch_norm_of_an_empty_batch_is_empty_and_keeps_the_running_statistics(device):
    x, mean, var = torch.empty(0, 3, 4, device=device, requires_grad=True), torch.randn(3, device=device), torch.rand(3, device=device)
    kept = mean.clone(), var.clone()
    y = torch_aclnn.functional.batch_norm(x, mean, var, training=True)
    y.sum().backward()
    assert y.shape == x.grad.shape == x.shape
    assert torch.equal(mean.cpu(), kept[0].cpu()) and torch.equal(var.cpu(), kept[1].cpu())


def test_batch_norm_in_evaluation_equals_torch(device):
    x, mean, var = torch.randn(2, 3, 4, device=device), torch.randn(3, device=device), torch.rand(3, device=device) + 1
    ours, theirs = (f.batch_norm(x, mean, var) for f in (torch_aclnn.functional, torch.nn.functional))
    assert torch.equal(ours.cpu(), theirs.cpu())


def test_batch_norm_of_half_types_keeps_their_type(device):
    x = torch.randn(4, 3, 5, device=device, dtype=torch.bfloat16, requires_grad=True)
    weight, bias = torch.ones(3, device=device, requires_grad=True), torch.zeros(3, device=device, requires_grad=True)
    y = batch_norm()(x, weight, bias)
    y.float().square().sum().backward()
    assert y.dtype == x.grad.dtype == torch.bfloat16 and weight.grad.dtype == torch.float32


def test_gradcheck_in_float32(device):
    x = torch.randn(5, 2, 3, device=device, requires_grad=True)
    w, b = (torch.rand(2, device=device) + 0.5).requires_grad_(), torch.randn(2, device=device, requires_grad=True)
    # Not linear, so the step is a compromise between truncation and rounding.
    assert torch.autograd.gradcheck(batch_norm(eps=0.1), (x, w, b), eps=1e-2, atol=1e-2, rtol=1e-2)


def test_gradcheck_in_float64_on_cpu():
    x = torch.randn(5, 2, 3, dtype=torch.float64, requires_grad=True)
    w, b = (
        (torch.rand(2, dtype=torch.float64) + 0.5).requires_grad_(),
        torch.randn(2, dtype=torch.float64, requires_grad=True),
    )
    for inputs in ((x, w, b), (x, None, None)):
        assert torch.autograd.gradcheck(batch_norm(), inputs) and torch.autograd.gradgradcheck(batch_norm(), inputs)


def test_vmap_equals_a_loop(device):
    x, w = torch.randn(3, 4, 2, 5, device=device), torch.rand(2, device=device) + 0.5
    fn = lambda x: batch_norm()(x, w, None)
    torch.testing.assert_close(torch.vmap(fn)(x).cpu(), torch.stack([fn(row) for row in x]).cpu())
    gradient = torch.func.grad(lambda x: fn(x).sin().sum())
    loop = torch.stack([gradient(row) for row in x])
    torch.testing.assert_close(torch.vmap(gradient)(x).cpu(), loop.cpu(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda f, x: f(x[0, 0, 0], None, None, training=True), ValueError, "batch_norm: input: expected 2 dimensions or more"),
        (
            lambda f, x: f(x, None, None, torch.ones(2), training=True),
            ValueError,
            r"batch_norm: weight: expected shape \(3,\), got \(2,\)",
        ),
        (
            lambda f, x: f(x, None, None, 1.0, training=True),
            TypeError,
            "batch_norm: weight: expected a Tensor, got float",
        ),
        (
            lambda f, x: f(x.int(), None, None, training=True),
            TypeError,
            "batch_norm: input: expected a floating-point dtype, got torch.int32",
        ),
        (lambda f, x: f(x, None, None, torch.ones(3).long(), training=True), TypeError, "batch_norm: weight: expected a floating-point"),
        (lambda f, x: f(x[:1, :, :1, :1], None, None, training=True), ValueError, "more than one value per channel"),
        (
            lambda f, x: f(x, None, None, training=True, eps=0.0),
            ValueError,
            "batch_norm: eps: expected a positive number in training, got 0.0",
        ),
    ],
)
def test_bad_arguments_are_refused_by_name(device, call, error, words):
    with pytest.raises(error, match=words):
        call(torch_aclnn.functional.batch_norm, torch.zeros(2, 3, 4, 4, device=device))


@pytest.mark.parametrize("momentum", [0.3, None])
@pytest.mark.parametrize("options", [{}, {"affine": False}, {"track_running_stats": False}])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_modules_have_the_state_repr_and_results_of_torch(device, dims, options, momentum):
    ours, theirs = (getattr(nn, f"BatchNorm{dims}d")(3, momentum=momentum, **options) for nn in (torch_aclnn.nn, torch.nn))
    assert repr(ours) == repr(theirs)
    ours.load_state_dict(theirs.state_dict())
    ours.to(device)
    for module in (torch.nn.Module.train, torch.nn.Module.train, torch.nn.Module.eval):
        x = torch.randn(4, 3, *(5, 4, 2)[: dims if dims > 1 else 0])
        results = [module(m)(x.to(where)) for m, where in ((ours, device), (theirs, "cpu"))]
        torch.testing.assert_close(results[0].cpu(), results[1], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close({k: v.cpu() for k, v in ours.state_dict().items()}, theirs.state_dict(), rtol=1e-4, atol=1e-5)


def test_modules_refuse_another_rank():
    with pytest.raises(ValueError, match="expected 4D input"):
        torch_aclnn.nn.BatchNorm2d(3)(torch.ones(2, 3))
