"""Sound calls that few programs make: they are computed, where they once failed as ATen's kernel met them."""

import ctypes
import math

import pytest
import torch

from cases import DEVICE
from direct import _DTYPES, _Handles, call, fraction, refusal, scalar


def npu(*shape, dtype=torch.float32):
    return torch.zeros(shape, dtype=dtype).to(DEVICE)


def random(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(len(shape)))


def flags(*values):
    """A handle for an aclBoolArray."""
    library = ctypes.CDLL("libopapi.so")
    library.aclCreateBoolArray.restype = ctypes.c_void_p
    return ctypes.c_void_p(library.aclCreateBoolArray((ctypes.c_bool * len(values))(*values), ctypes.c_uint64(len(values))))


def test_gradients_of_a_weight_and_bias_that_were_not_given():
    # They are what those of ones and zeros would have.
    x, grad = random(3, 4), random(3, 4)
    mean, invstd = x.mean(1), (x.var(1, unbiased=False) + 1e-5).rsqrt()
    normal = (x - mean[:, None]) * invstd[:, None]
    of_weight, of_bias = npu(4), npu(4)
    inputs = (grad.to(DEVICE), x.to(DEVICE), [4], mean.to(DEVICE), invstd.to(DEVICE), None, None)
    call("aclnnLayerNormBackward", *inputs, flags(True, True, True), npu(3, 4), of_weight, of_bias)
    torch.testing.assert_close(of_weight.cpu(), (grad * normal).sum(0))
    torch.testing.assert_close(of_bias.cpu(), grad.sum(0))


def test_gradient_of_a_group_norms_weight_that_was_not_given():
    x, grad = random(2, 4, 3), random(2, 4, 3)
    grouped = x.view(2, 2, 6)
    mean, invstd = grouped.mean(2), (grouped.var(2, unbiased=False) + 1e-5).rsqrt()
    normal = ((grouped - mean[:, :, None]) * invstd[:, :, None]).view_as(x)
    of_weight = npu(4)
    inputs = (grad.to(DEVICE), x.to(DEVICE), mean.to(DEVICE), invstd.to(DEVICE), None, 2, 4, 3, 2)
    call("aclnnGroupNormBackward", *inputs, flags(True, True, True), npu(2, 4, 3), of_weight, npu(4))
    torch.testing.assert_close(of_weight.cpu(), (grad * normal).sum((0, 2)))


def test_statistics_of_the_batch_do_not_count_in_evaluation():
    x, running = random(2, 3), torch.ones(3).to(DEVICE)
    grad, out = random(2, 6).to(DEVICE)[:, ::2], npu(2, 3)
    arguments = (grad, x.to(DEVICE), None, running, running, npu(2, 3), None, False, 0.0, flags(True, False, False), out, None, None)
    call("aclnnBatchNormBackward", *arguments)
    torch.testing.assert_close(out.cpu(), grad.cpu())


def test_evaluation_without_statistics_is_refused():
    x = npu(2, 3)
    arguments = (x, x, None, None, None, None, None, False, 0.0, flags(True, False, False), npu(2, 3), None, None)
    code, message = refusal("aclnnBatchNormBackward", *arguments)
    assert code == 161001 and "runningMean: expected a tensor, as training is not set" in message, message


def test_a_number_beyond_int64_is_refused_by_its_name():
    library = ctypes.CDLL("libopapi.so")
    library.aclCreateScalar.restype = ctypes.c_void_p
    dim = ctypes.c_void_p(library.aclCreateScalar(ctypes.byref(ctypes.c_uint64(2**64 - 1)), _DTYPES[torch.uint64]))
    code, message = refusal("aclnnInplaceCumprod", npu(2, 3), dim)
    assert code == 161002 and "dim: expected a real number that fits" in message and message.endswith(str(2**64 - 1)), message


def test_no_indices_choose_everything():
    x, out, library = random(2, 3), npu(2, 3), _Handles().lib
    library.aclCreateTensorList.restype = ctypes.c_void_p
    call("aclnnIndex", x.to(DEVICE), ctypes.c_void_p(library.aclCreateTensorList(None, ctypes.c_uint64(0))), out)
    assert out.cpu().equal(x)


def test_no_dimensions_of_logsumexp_are_all():
    x, out = random(2, 3), npu()
    call("aclnnLogSumExp", x.to(DEVICE), [], False, out)
    torch.testing.assert_close(out.cpu(), x.logsumexp((0, 1)))


def test_one_step_counts_for_both_directions_of_windows():
    x, columns, back = random(1, 2, 4, 4), npu(1, 8, 9), npu(1, 2, 4, 4)
    call("aclnnIm2col", x.to(DEVICE), [2], [1], [0], [1], columns)
    assert columns.cpu().equal(torch.nn.functional.unfold(x, 2))
    call("aclnnIm2colBackward", columns, [4, 4], [2], [1], [0], [1], back)
    torch.testing.assert_close(back.cpu(), torch.nn.functional.fold(columns.cpu(), (4, 4), 2))


def test_rows_without_elements_have_the_scale_0():
    scale = torch.ones(2, device=DEVICE)
    call("aclnnDynamicQuant", npu(2, 0, dtype=torch.float16), None, npu(2, 0, dtype=torch.int8), scale)
    assert scale.tolist() == [0, 0]


def test_unsigned_words_of_a_cache_are_gathered_as_they_are():
    bits = torch.tensor([[[0]], [[-2]]], dtype=torch.int32)
    cache, out, values = bits.view(torch.uint16).view(2, 1, 2).to(DEVICE), npu(1, 2, dtype=torch.uint16), npu(1, 2, dtype=torch.uint16)
    assert _DTYPES[cache.dtype] == 7
    tables, lengths = torch.tensor([[1]], dtype=torch.int32).to(DEVICE), torch.tensor([1], dtype=torch.int32).to(DEVICE)
    call("aclnnGatherPaKvCache", cache, cache, tables, lengths, out, values, None, None, False)
    assert out.cpu().view(torch.int16).tolist() == [[-2, -1]]


@pytest.mark.parametrize("dims", [2, 4])
def test_gradient_of_the_losses_of_scores_in_another_order(dims):
    images = random(2, 3, 4, 5) if dims == 4 else random(6, 5)
    scores = images.transpose(-1, 1 - dims)  # of each element first
    target = torch.arange(scores.numel() // scores.shape[1]).remainder(scores.shape[1]).view(scores.shape[:1] + scores.shape[2:])
    grad, out = random(*target.shape), torch.empty_like(scores).to(DEVICE)
    expected = scores.contiguous().requires_grad_()
    torch.nn.functional.nll_loss(expected, target, reduction="none").backward(grad)
    there = [one.to(DEVICE) for one in (grad, images, target)]
    name = "aclnnNLLLoss2dBackward" if dims == 4 else "aclnnNLLLossBackward"
    call(name, there[0], there[1].transpose(-1, 1 - dims), there[2], None, 0, -100, npu(1), out)
    torch.testing.assert_close(out.cpu(), expected.grad)


@pytest.mark.parametrize("shape", [(2, 1), (1, 2), (2,)])
def test_scales_of_rows_are_those_of_each_of_a_batch(shape):
    left, right, scales = (torch.arange(1, 1 + math.prod(s)).view(s) for s in ((3, 2, 4), (3, 4, 5), shape))
    out = npu(3, 2, 5)
    of_rows = scales.float().to(DEVICE)
    factors = (left.to(torch.int8).to(DEVICE), right.to(torch.int8).to(DEVICE))
    call("aclnnQuantMatmulV4", *factors, npu(5) + 1, None, of_rows, None, False, False, out)
    assert out.cpu().equal(((left @ right) * scales.view(2, 1)).float())


@pytest.mark.parametrize("number", [fraction(65504.0), scalar(-65504)])
def test_the_largest_number_of_a_type_fills_it(number):
    x = npu(2, dtype=torch.float16)
    call("aclnnInplaceFillScalar", x, number)
    assert x.abs().tolist() == [65504, 65504]


@pytest.mark.parametrize("stride", [0, 3])
def test_one_tensor_of_one_element_is_joined(stride):
    out = npu(9).as_strided((1, 1), (stride, stride))
    call("aclnnCat", (npu(1, 1) + 5,), 1, out)
    assert out.tolist() == [[5]]


def test_running_statistics_at_one_place_are_refused():
    x, one = npu(2, 3), npu(1).expand(3)
    outputs = npu(2, 3), npu(3), npu(3)
    code, message = refusal("aclnnBatchNorm", x, None, None, one, npu(3), True, 0.1, 1e-5, *outputs)
    assert code == 161002 and "runningMean: expected elements that do not share memory, got shape [3] with strides [0]" in message
    code, message = refusal("aclnnBatchNormGatherStatsWithCounts", x, npu(2, 3), npu(2, 3), npu(3), one, 0.1, 1e-5, npu(2), npu(3), npu(3))
    assert code == 161002 and "runningVar: expected elements that do not share memory" in message


def test_a_step_beyond_int64_is_refused():
    out = npu(2, dtype=torch.uint8)
    code, message = refusal("aclnnRange", scalar(0), fraction(2.0), fraction(2.0**63), out)
    assert code == 161002 and "step: expected a real number that fits into INT64, got 9.22337e+18" in message, message
