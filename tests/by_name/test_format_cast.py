"""torch_npu's formats: npu_format_cast, get_npu_format and what is computed with tensors in private formats."""

import pytest
import torch
import torch_npu

from support.dtypes import Format
from support.private_formats import FRACTAL_Z, FRACTAL_Z_3D, storage_sizes

TYPES = (torch.float32, torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.int32, torch.int64, torch.bool)
CASES = [
    (Format.NC1HWC0, (2, 17, 3, 4)), (Format.NC1HWC0, (5, 7)), (Format.NC1HWC0, (4,)), (FRACTAL_Z, (17, 18, 3, 2)),
    (Format.FRACTAL_NZ, (2, 3, 17, 33)), (Format.FRACTAL_NZ, (40, 20)), (Format.NDC1HWC0, (2, 17, 3, 4, 5)),
    (FRACTAL_Z_3D, (17, 18, 2, 3, 4)), (Format.NDHWC, (2, 3, 4, 5, 6)),
]  # fmt: skip

# Whether torch_npu takes CANN's blocks; version 2.12 and later decide it by the release of CANN.
BLOCKS_OF_CANN = hasattr(torch_npu.utils, "get_cann_version") and torch_npu.utils.get_cann_version(module="CANN") >= "9.1.0"


@pytest.fixture(autouse=True)
def _private_formats():
    torch_npu.npu.config.allow_internal_format = True  # the setting cannot be read; False is the default
    yield
    torch_npu.npu.config.allow_internal_format = False


def values(sizes, dtype):
    return (torch.randn(sizes) * 9).to(dtype)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize(("kind", "sizes"), CASES)
def test_cast_there_and_back(kind, sizes, dtype):
    x = values(sizes, dtype)
    plain = torch_npu.get_npu_format(x.npu())  # NCHW or ND, by the number of dimensions
    there = torch_npu.npu_format_cast(x.npu(), kind)
    assert torch_npu.get_npu_format(there) == kind
    # torch_npu's own blocks have 16 columns, but for matrices of bytes, which have 32. From CANN 9.1 on it asks CANN where it can.
    columns = 32 if kind == Format.FRACTAL_NZ and x.element_size() == 1 else 16
    if kind in (Format.NDC1HWC0, FRACTAL_Z_3D) and dtype not in (torch.int64, torch.bool) and BLOCKS_OF_CANN:
        columns = 32 // x.element_size()
    assert torch_npu.get_storage_size(there) == torch.Size(storage_sizes(kind, sizes, columns)).numel()
    assert torch.equal(there.cpu(), x)
    back = torch_npu.npu_format_cast(there, plain)
    assert torch_npu.get_npu_format(back) == plain
    assert torch.equal(back.cpu(), x)


def test_cast_in_place_and_like_another_tensor():
    x = values((17, 20), torch.float32)
    there = x.npu()
    torch_npu.npu_format_cast_(there, Format.FRACTAL_NZ)
    assert torch_npu.get_npu_format(there) == Format.FRACTAL_NZ
    assert torch.equal(there.cpu(), x)
    like = torch_npu.npu_format_cast(x.npu(), there)
    assert torch_npu.get_npu_format(like) == Format.FRACTAL_NZ
    target = torch_npu.empty_with_format((17, 20), dtype=torch.float32, device="npu", acl_format=Format.FRACTAL_NZ)
    target.copy_(x.npu())
    assert torch.equal(target.cpu(), x)


def test_without_permission_the_format_stays():
    torch_npu.npu.config.allow_internal_format = False
    assert torch_npu.get_npu_format(torch_npu.npu_format_cast(torch.ones(17, 20).npu(), Format.FRACTAL_NZ)) == Format.ND


def test_gradient_of_a_cast():
    x = torch.randn(17, 20, requires_grad=True)
    there = x.npu()
    (torch_npu.npu_format_cast(there, Format.FRACTAL_NZ) * 3).sum().backward()
    torch.testing.assert_close(x.grad, torch.full((17, 20), 3.0))


FUNCTIONS = {
    "add": lambda x, y: x + y, "mm": lambda x, y: x @ y.t(), "sum": lambda x, _: x.sum(1), "view": lambda x, _: x.reshape(20, 17) * 1,
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_computed_with_private_formats(name):
    x, y = torch.randn(17, 20), torch.randn(17, 20)
    there = [torch_npu.npu_format_cast(t.npu(), Format.FRACTAL_NZ) for t in (x, y)]
    got = FUNCTIONS[name](*there)
    torch.npu.synchronize()
    torch.testing.assert_close(got.cpu(), FUNCTIONS[name](x, y), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", [Format.NC1HWC0, FRACTAL_Z])
def test_a_convolution_of_private_formats(kind):
    torch.manual_seed(0)
    x, weight = torch.randn(2, 17, 6, 7, requires_grad=True), torch.randn(5, 17, 3, 3, requires_grad=True)
    expected = torch.nn.functional.conv2d(x, weight, stride=2, padding=1)
    expected.sum().backward()
    there = [t.detach().npu().requires_grad_() for t in (x, weight)]
    private = [torch_npu.npu_format_cast(there[0], Format.NC1HWC0), torch_npu.npu_format_cast(there[1], kind)]
    got = torch.nn.functional.conv2d(*private, stride=2, padding=1)
    torch.testing.assert_close(got.detach().cpu(), expected.detach(), rtol=1e-4, atol=1e-4)
    got.sum().backward()
    for a, b in zip(there, (x, weight), strict=True):
        torch.testing.assert_close(a.grad.cpu(), b.grad, rtol=1e-4, atol=1e-4)
