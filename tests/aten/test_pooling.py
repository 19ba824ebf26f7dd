"""pooling.cpp: pooling and unpooling with their gradients, and the mask between max pooling and its backward."""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from cases import DEVICE, FLOATS, LAYOUTS, randn, rows, table
from direct import call
from support.subprocesses import host_mode, output_of

PLANES, VOLUMES = randn(2, 3, 7, 8), randn(2, 2, 5, 6, 7)


def pool(name, function, *inputs, **options):
    return rows(
        name, function, *inputs, **{"dtypes": FLOATS, "layouts": LAYOUTS, "close": True, "upcast": True, "backward": True} | options
    )


def there_and_back(pooling, unpooling, *arguments):
    """Unpooling needs real indices: they come from the CPU."""

    def function(x):
        values, indices = pooling(x.detach().cpu().float(), *arguments, return_indices=True)
        return unpooling(x.flatten()[: values.numel()].reshape(values.shape), indices.to(x.device), *arguments)

    return function


CASES = [
    *pool("avg_pool2d", lambda x: F.avg_pool2d(x, (2, 3), (2, 1), (1, 0)), PLANES),
    *pool("avg_pool2d-options", lambda x: F.avg_pool2d(x, 3, 2, 1, True, False), PLANES),
    *pool("avg_pool2d-divisor", lambda x: F.avg_pool2d(x, 2, divisor_override=3), PLANES),
    *pool("avg_pool2d-unbatched", lambda x: F.avg_pool2d(x, 2), randn(3, 6, 8)),
    *pool("avg_pool1d", lambda x: F.avg_pool1d(x, 3, 2, 1), randn(2, 3, 9)),
    *pool("avg_pool3d", lambda x: F.avg_pool3d(x, (2, 3, 2), 2, (1, 1, 0)), VOLUMES, dtypes=(torch.float32,)),
    *pool("avg_pool3d-options", lambda x: F.avg_pool3d(x, 2, None, 1, True, False, 5), VOLUMES, dtypes=(torch.float32,)),
    *pool("adaptive_avg_pool1d", lambda x: F.adaptive_avg_pool1d(x, 4), randn(2, 3, 9)),
    *pool("adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, (3, 5)), PLANES),
    *pool("adaptive_avg_pool2d-larger", lambda x: F.adaptive_avg_pool2d(x, (9, 5)), PLANES),
    *pool("adaptive_avg_pool2d-1", lambda x: F.adaptive_avg_pool2d(x, 1), PLANES),
    *pool("adaptive_avg_pool3d", lambda x: F.adaptive_avg_pool3d(x, (3, 2, 4)), VOLUMES),
    *pool("adaptive_max_pool2d", lambda x: F.adaptive_max_pool2d(x, (3, 5), return_indices=True), PLANES, dtypes=(torch.float32,)),
    *pool("max_pool1d", lambda x: F.max_pool1d(x, 3, 2, 1), randn(2, 3, 9)),
    *pool("max_pool2d", lambda x: F.max_pool2d(x, 2), PLANES),
    *pool("max_pool2d-overlap", lambda x: F.max_pool2d(x, 3, 2, 1), PLANES),
    *pool("max_pool2d-options", lambda x: F.max_pool2d(x, (3, 2), (1, 2), 1, 2, True), randn(2, 3, 9, 10)),
    *pool("max_pool2d-1", lambda x: F.max_pool2d(x, 1, 2), PLANES),
    *pool("max_pool2d-unbatched", lambda x: F.max_pool2d(x, 2, 1), randn(3, 7, 8)),
    *pool("max_pool2d-narrow", lambda x: F.max_pool2d(x, 3, 1, 1), randn(2, 3, 4, 2)),
    *pool("max_pool2d-large", lambda x: F.max_pool2d(x, 3, 2, 1), randn(4, 16, 37, 41), dtypes=(torch.float32,)),
    *pool("max_pool2d-empty", lambda x: F.max_pool2d(x, 2), randn(0, 3, 6, 6)),
    *pool("max_pool2d-ties", lambda x: F.max_pool2d(x, 3, 1, 1), randn(1, 2, 5, 5), dtypes=(torch.float16,), rtol=0, atol=0),
    *pool("max_pool3d", lambda x: F.max_pool3d(x, (2, 3, 2), 2, 1), VOLUMES),
    *pool("max_unpool2d", there_and_back(F.max_pool2d, F.max_unpool2d, 2), randn(2, 3, 6, 8), backward=False),
    *pool(
        "max_unpool3d",
        there_and_back(F.max_pool3d, F.max_unpool3d, 2),
        randn(2, 2, 4, 6, 6),
        backward=False,
        dtypes=(torch.float32, torch.float16),
    ),
]


@table(CASES)
def test_pooling(case):
    case.check()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_avg_pool3d_in_half(dtype):
    """ATen has no such kernel on the CPU."""
    x, grad = torch.randn(2, 2, 5, 6, 7).to(dtype), torch.randn(2, 2, 2, 3, 3).to(dtype)
    there, here = x.to(DEVICE).requires_grad_(), x.float().requires_grad_()
    got, expected = F.avg_pool3d(there, 2), F.avg_pool3d(here, 2)
    torch.testing.assert_close(got.cpu(), expected.to(dtype))
    got.backward(grad.to(DEVICE))
    expected.backward(grad.float())
    torch.testing.assert_close(there.grad.cpu(), here.grad.to(dtype))


def test_max_pool3d_indices():
    x = torch.randn(2, 3, 5, 6, 7)
    values, indices = F.max_pool3d(x.to(DEVICE), 2, return_indices=True)
    expected_values, expected_indices = F.max_pool3d(x, 2, return_indices=True)
    assert torch.equal(values.cpu(), expected_values) and torch.equal(indices.cpu().long(), expected_indices)


def test_max_pool_passes_nan_on():
    x = torch.zeros(1, 1, 4, 4)
    x[0, 0, 1, 2] = float("nan")
    gradients = []
    for device in ("cpu", DEVICE):
        leaf = x.clone().to(device).requires_grad_()
        F.max_pool2d(leaf, 2).sum().backward()
        gradients.append(leaf.grad.cpu())
    assert torch.equal(*gradients)


@pytest.mark.parametrize("position", [9, -1, 6])  # after the window, before it, and in the padding
def test_max_pool_refuses_a_mask_that_it_did_not_write(capfd, position):
    x, options = torch.randn(2, 3, 4, 4).to(DEVICE), ([3, 3], [2, 2], [1, 1], [1, 1], False)
    maxima, mask = torch.ops.aten.max_pool2d_with_indices(x, *options)
    bad = torch.full((mask.numel() // 2,), position, dtype=torch.int16).view(mask.dtype).view(mask.shape)
    with pytest.raises(RuntimeError, match="161002"):
        torch.ops.aten.max_pool2d_with_indices_backward(maxima, x, *options, bad.to(DEVICE)).cpu()
    said = capfd.readouterr().err
    assert "aclnnMaxPool2dWithMaskBackward: indices: expected a mask that aclnnMaxPool2dWithMask wrote" in said
    assert f"windows of 9 elements, got position {position} " in said


@pytest.mark.parametrize("kernel", [1, 2, 5])
def test_a_plane_of_one_row(kernel):
    x = torch.randn(2, 3, 1, 40)
    torch.testing.assert_close(F.max_pool2d(x.to(DEVICE), (1, kernel)).cpu(), F.max_pool2d(x, (1, kernel)))


def test_indices_instead_of_a_mask():
    """The form of newer products."""
    x, grad = torch.randn(2, 3, 7, 8), torch.randn(2, 3, 4, 4)
    expected, expected_indices = F.max_pool2d(x, 3, 2, 1, return_indices=True)
    out, indices = (torch.empty_like(expected, device=DEVICE), torch.empty(expected.shape, dtype=torch.int32, device=DEVICE))
    arguments = ([3, 3], [2, 2], [1, 1], [1, 1], False)
    call("aclnnMaxPool2dWithIndices", x.to(DEVICE), *arguments, out, indices)
    assert torch.equal(out.cpu(), expected) and torch.equal(indices.cpu().long(), expected_indices)

    grad_input = torch.empty_like(x, device=DEVICE)
    call("aclnnMaxPool2dWithIndicesBackward", grad.to(DEVICE), x.to(DEVICE), indices, *arguments, grad_input)
    want = torch.ops.aten.max_pool2d_with_indices_backward(grad, x, [3, 3], [2, 2], [1, 1], [1, 1], False, expected_indices)
    torch.testing.assert_close(grad_input.cpu(), want)


def test_adaptive_max_pool3d():
    x, grad = torch.randn(2, 3, 5, 6, 7), torch.randn(2, 3, 2, 3, 4)
    expected, expected_indices = F.adaptive_max_pool3d(x, (2, 3, 4), return_indices=True)
    out, indices = (torch.empty_like(expected, device=DEVICE), torch.empty(expected.shape, dtype=torch.int32, device=DEVICE))
    call("aclnnAdaptiveMaxPool3d", x.to(DEVICE), [2, 3, 4], out, indices)
    assert torch.equal(out.cpu(), expected) and torch.equal(indices.cpu().long(), expected_indices)

    grad_input = torch.empty_like(x, device=DEVICE)
    call("aclnnAdaptiveMaxPool3dBackward", grad.to(DEVICE), x.to(DEVICE), indices, grad_input)
    torch.testing.assert_close(grad_input.cpu(), torch.ops.aten.adaptive_max_pool3d_backward(grad, x, expected_indices))


# As a C program calls them, in a process of its own: the tables are those of a product, and strict mode refuses some.
CALLS = f"""
import sys; sys.path.append({str(Path(__file__).parent)!r})
import torch, torch_aclnn
from ctypes import c_int8
from direct import refusal

def average(dtype, cube_math_type):
    x, out = (torch.zeros(1, 2, size, size, dtype=dtype).npu() for size in (4, 2))
    return refusal("aclnnAvgPool2d", x, [2, 2], [2, 2], [0, 0], False, True, 0, c_int8(cube_math_type), out)

def unpooled(dtype):
    x, out = torch.zeros(1, 2, 1, 1, 1).npu(), torch.zeros(1, 2, 2, 2, 2).npu()
    return refusal("aclnnMaxUnpool3d", x, x.to(dtype), [2, 2, 2], [2, 2, 2], [0, 0, 0], out)

"""


@pytest.mark.parametrize(("soc", "taken"), [("Ascend910B3", False), ("Ascend310B1", False), ("Ascend310P3", True)])
def test_average_of_float32_by_its_precision(soc, taken):
    code = CALLS + "print(average(torch.float32, 0)[0], average(torch.float16, 1)[0], *average(torch.float32, 1))"
    refused = f"161002 aclnnAvgPool2d: cubeMathType: expected 0 for FLOAT on {soc}, got 1"
    assert output_of(code, TORCH_ACLNN_HOST_SOC=soc).strip() == "0 0 " + ("0" if taken else refused)


@pytest.mark.parametrize(
    ("modes", "expected"),
    [((), "0"), (("strict",), "161002 aclnnMaxUnpool3d: indices: expected INT64, as TORCH_ACLNN_HOST_MODE=strict asks, got INT32")],
)
def test_indices_of_unpooling(modes, expected):
    code = CALLS + "print(unpooled(torch.int64)[0], *filter(None, map(str, unpooled(torch.int32))))"
    assert output_of(code, **host_mode(*modes, without=("strict", "unspecified"))) == f"0 {expected}"


@pytest.mark.parametrize("dims", [2, 3])
def test_integers_are_unpooled(dims):
    """ATen has no such kernel on cpu."""
    values, index = (torch.tensor(numbers).view(1, 1, 2, *[1] * (dims - 1)).to(DEVICE) for numbers in ([1, 2], [1, 3]))
    kernel = (2, *[1] * (dims - 1))
    unpooled = getattr(F, f"max_unpool{dims}d")(values, index, kernel)
    assert unpooled.dtype == torch.int64 and unpooled.shape[2:] == (4, *kernel[1:]) and unpooled.flatten().tolist() == [0, 1, 0, 2]
