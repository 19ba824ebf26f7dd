"""matmul_weight.cpp against definitions in float64."""

import ctypes
import math

import torch_aclnn
import pytest
import torch
import torch.nn.functional as F
from checks import DEVICE, close

from direct import call, refuses
from support.marks import of_a2_and_a3, of_the_950
from support.status import INVALID


def weight_size(shape, dtype):
    library, size = ctypes.CDLL("libopapi.so"), ctypes.c_uint64()
    library.aclCreateIntArray.restype = ctypes.c_void_p
    array = ctypes.c_void_p(library.aclCreateIntArray((ctypes.c_int64 * len(shape))(*shape), ctypes.c_uint64(len(shape))))
    return library.aclnnCalculateMatmulWeightSizeV2(array, dtype, ctypes.byref(size)), size.value


@of_the_950
def test_batches_with_a_weight_in_blocks(in_blocks):
    x, weights = torch.randn(3, 5, 40).half(), torch.randn(3, 40, 20).half()
    close(torch.bmm(x.to(DEVICE), in_blocks(weights)), x.double() @ weights.double(), 2e-3)


def test_the_size_of_a_matmul_weight_is_that_of_the_document():
    assert weight_size([510, 510], 1) == (0, 262144)
    assert weight_size([510, 270], 2) == (0, 147456)
    assert weight_size([510], 1)[0] == INVALID and weight_size([2, 2], 3)[0] == INVALID
    assert weight_size([1 << 40, 1 << 40], 1)[0] == INVALID


@pytest.mark.parametrize(("dtype", "columns"), [(torch.float16, 16), (torch.bfloat16, 16), (torch.int8, 32)], ids=str)
def test_a_matmul_weight_is_rearranged_in_place(dtype, columns):
    """Blocks have 16 rows, the blocks of one column of blocks lie behind each other, and zeros fill up the last."""
    rows, features = 18, 35
    weight = (torch.arange(rows * features) % 100 + 1).reshape(rows, features).to(dtype)
    down, across = math.ceil(rows / 16), math.ceil(features / columns)
    memory = torch.zeros(across * down * 16 * columns, dtype=dtype, device=DEVICE)
    memory[: weight.numel()].copy_(weight.flatten())
    call("aclnnTransMatmulWeight", memory[: weight.numel()].view(rows, features))
    filled = F.pad(weight, (0, across * columns - features, 0, 16 * down - rows)).view(down, 16, across, columns)
    assert memory.cpu().view(across, down, 16, columns).equal(filled.permute(2, 0, 1, 3))


@of_a2_and_a3
@pytest.mark.parametrize("transposed", [False, True])
def test_floating_products(in_blocks, transposed):
    self, x, weight, batch = (torch.randn(*shape).half() for shape in ((5, 20), (5, 40), (40, 20), (3, 5, 40)))
    there = in_blocks(weight, transposed)
    close(x.to(DEVICE) @ there, x.double() @ weight.double())
    close(batch.to(DEVICE) @ there, batch.double() @ weight.double())
    close(torch.addmm(self.to(DEVICE), x.to(DEVICE), there, beta=2, alpha=3), 2 * self.double() + 3 * (x.double() @ weight.double()))
    close(F.linear(x.to(DEVICE), there.mT), x.double() @ weight.double())
    assert {"aclnnMatmulWeightNz", "aclnnAddmmWeightNz"} <= torch_aclnn.host.statistics().calls.keys()


def test_a_plain_weight_is_refused():
    x, out = torch.randn(4, 4, device=DEVICE), torch.zeros(4, 4, device=DEVICE)
    refuses("mat2: expected format FRACTAL_NZ", "aclnnMatmulWeightNz", x, x.clone(), out, ctypes.c_int8(0))


def test_a_storage_that_does_not_hold_the_blocks_is_refused():
    refuses("room for 512 bytes, got 70", "aclnnTransMatmulWeight", torch.ones(7, 5, dtype=torch.half))
