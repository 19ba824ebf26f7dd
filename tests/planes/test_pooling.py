"""The functions of average pooling, of windows and to a given size: their arguments, and the names in the errors of their operators."""

import torch_aclnn
import pytest
import torch

from support.functions import on_devices_in_turn
from support.marks import host_engine_only
from support.operators import ROWS


def rows(prefix):
    return [row for row in ROWS.values() if row.name.startswith(prefix)]


def named(prefix):
    return pytest.mark.parametrize("row", rows(prefix), ids=lambda row: row.name)


def function(row):
    return getattr(torch_aclnn.functional, row.name)


WINDOWS = {
    "a list": (lambda f, x: f([[1.0]], 2), TypeError, "input: expected a Tensor, got list"),
    "a plane alone": (lambda f, x: f(x[0, 0], 2), ValueError, "input: expected {1} or {2} dimensions"),
    "no kernel": (lambda f, x: f(x, 0), ValueError, "kernel_size: expected values of at least 1, got 0"),
    "a float": (lambda f, x: f(x, 2.0), TypeError, "kernel_size: expected integers, got 2.0"),
    "four sizes": (lambda f, x: f(x, (1, 2, 3, 4)), ValueError, "kernel_size: expected one integer or {0}"),
    "no stride": (lambda f, x: f(x, 2, 0), ValueError, "stride: expected values of at least 1, got 0"),
    "more than half": (lambda f, x: f(x, 2, 2, 2), ValueError, "padding: expected at most half of kernel_size"),
    "divisor 0": (
        lambda f, x: f(x, 2, divisor_override=0),
        ValueError,
        "divisor_override: expected None or a 64-bit integer other than 0, got 0",
    ),
    "divisor 2^63": (lambda f, x: f(x, 2, divisor_override=2**63), ValueError, "divisor_override: expected None or a 64-bit integer"),
    "divisor True": (lambda f, x: f(x, 2, divisor_override=True), TypeError, "divisor_override: expected integers, got True"),
    "stride 2^31": (lambda f, x: f(x, 2, 2**31), ValueError, "stride: expected values of at most 2147483647, got 2147483648"),
}
TO_A_SIZE = {
    "None": (lambda f, x: f(None, 2), TypeError, "input: expected a Tensor, got NoneType"),
    "a plane alone": (lambda f, x: f(x[0, 0], 2), ValueError, "input: expected {1} or {2} dimensions"),
    "four sizes": (lambda f, x: f(x, (1, 2, 3, 4)), ValueError, "output_size: expected one integer or {0}"),
    "-1": (lambda f, x: f(x, -1), ValueError, "output_size: expected values of at least 0"),
    "a float": (lambda f, x: f(x, 1.5), TypeError, "output_size: expected integers"),
}


def assert_refused(device, row, bad):
    call, error, words = bad
    with pytest.raises(error, match=f"{row.name}: {words.format(row.dims, row.dims + 1, row.dims + 2)}"):
        call(function(row), torch.zeros(1, 1, *[4] * row.dims, device=device))


@on_devices_in_turn("row, bad", rows("avg_pool"), WINDOWS)
def test_bad_arguments_of_windows_are_refused_by_name(device, row, bad):
    assert_refused(device, row, WINDOWS[bad])


@on_devices_in_turn("row, bad", rows("adaptive"), TO_A_SIZE)
def test_bad_arguments_of_a_size_are_refused_by_name(device, row, bad):
    assert_refused(device, row, TO_A_SIZE[bad])


@named("avg_pool")
def test_an_empty_stride_is_the_kernel_size(device, row):
    x = torch.randn(1, 1, *[4] * row.dims, device=device)
    for stride in ((), [], None):
        assert torch.equal(function(row)(x, 2, stride).cpu(), function(row)(x, 2, 2).cpu())


@pytest.mark.parametrize("device", ["cpu", "npu", "meta"])
@named("avg_pool")
def test_one_value_stands_for_all_directions(device, row):
    size = (1, 1, *[4] * row.dims)
    result = row.operator.op(torch.ones(1, 1, *[2] * row.dims, device=device), size, [2], [2], [0])
    assert result.shape == size
    assert device == "meta" or bool((result == 2**-row.dims).all())


@named("adaptive")
def test_a_result_without_elements_is_that_of_torch(device, row):
    result = function(row)(torch.ones(2, 3, *[4] * row.dims, device=device), (*[1] * (row.dims - 2), 0, 2))
    assert result.shape == (2, 3, *[1] * (row.dims - 2), 0, 2)


@host_engine_only
def test_the_operator_names_the_entry_point_the_code_and_its_meaning():
    op = torch.ops.torch_aclnn.avg_pool2d_backward
    words = (
        r"aclnnAvgPool2dBackward failed with 161002 \(ACLNN_ERR_PARAM_INVALID.*divisorOverride: expected a value in \[-255, 255\], got 300"
    )
    with pytest.raises(RuntimeError, match=words):
        op(torch.ones(1, 1, 2, 2, device="npu"), (1, 1, 4, 4), (2, 2), divisor_override=300)
    with pytest.raises(RuntimeError, match="DOUBLE"):
        op(torch.ones(1, 1, 2, 2, device="npu", dtype=torch.float64), (1, 1, 4, 4), (2, 2))


def gradient_in(memory_format, gradient, size):
    """Return the gradient of pooling volumes to a size, written into a tensor of this layout that was full of NaN."""
    out = torch.full(size, float("nan"), dtype=gradient.dtype).contiguous(memory_format=memory_format)
    torch.ops.torch_aclnn.adaptive_avg_pool3d_backward.out(gradient, size, out=out)
    return out


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64])
def test_channels_last_into_channels_last_with_single_columns(dtype):
    op = torch.ops.torch_aclnn.adaptive_avg_pool3d_backward
    for plane, pooled in (((4, 3, 3), (1, 1, 1)), ((4, 3, 1), (2, 3, 1)), ((1, 1, 1), (1, 1, 1)), ((3, 2, 5), (2, 2, 3))):
        grad_output = torch.randn((2, 8, *pooled), dtype=dtype)
        expected = op(grad_output, (2, 8, *plane))
        last = grad_output.contiguous(memory_format=torch.channels_last_3d)
        given = [last.as_strided(last.shape, s) for s in ((8, 1, 1, 1, 1), (8, 1, 8, 8, 8))] if pooled == (1, 1, 1) else [last]
        for gradient in given:
            assert torch.equal(gradient_in(torch.channels_last_3d, gradient, (2, 8, *plane)), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize(
    ("plane", "pooled"), [((7, 20, 23), (4, 9, 10)), ((5, 30, 33), (5, 7, 29)), ((9, 16, 21), (4, 16, 21)), ((12, 9, 5), (3, 3, 2))]
)
def test_few_adjacent_channels_have_the_bits_of_planes(dtype, plane, pooled):
    for channels in (1, 2, 3, 4, 6, 9):
        gradient, size = torch.randn((2, channels, *pooled), dtype=dtype), (2, channels, *plane)
        of_channels_last = gradient_in(torch.channels_last_3d, gradient.contiguous(memory_format=torch.channels_last_3d), size)
        assert torch.equal(of_channels_last, gradient_in(torch.contiguous_format, gradient, size)), channels
