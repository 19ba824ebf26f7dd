"""Further versions and gradients of entry points that C++ programs call: each against torch, or its definition in float64."""

import ctypes

import pytest
import torch
import torch.nn.functional as F

from cases import DEVICE, FLOATS, close, drawn
from direct import call, failure, fraction, refusal
from support.communicator import one_rank

INVALID = 161002
OWN = b"a rank alone"


def npu(tensor, dtype=torch.float32):
    return tensor.to(DEVICE, dtype)


def empty(*sizes, dtype=torch.float32):
    return torch.empty(sizes, dtype=dtype, device=DEVICE)


def test_and_of_bits():
    x, y = torch.randint(-100, 100, (3, 4)), torch.randint(-100, 100, (4,))
    out, x_npu = empty(3, 4, dtype=torch.int64), npu(x, torch.int64)
    call("aclnnBitwiseAndTensorOut", x_npu, npu(y, torch.int64), out)
    assert out.cpu().equal(x & y)
    call("aclnnInplaceBitwiseAndTensorOut", x_npu, npu(y, torch.int64))
    assert x_npu.cpu().equal(x & y)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_pointwise_and_losses(dtype):
    x, y = drawn(3, 4).to(dtype), drawn(3, 4).abs().to(dtype)
    exact_x, exact_y = x.double(), y.double()
    expected = {
        "aclnnSquare": ((npu(x, dtype),), exact_x * exact_x),
        "aclnnReal": ((npu(x, dtype),), exact_x),
        "aclnnMinN": (((npu(x, dtype), npu(y, dtype)),), torch.minimum(exact_x, exact_y)),
        "aclnnMseLossOut": ((npu(x, dtype), npu(y, dtype), 0), (exact_x - exact_y) ** 2),
    }
    for name, (arguments, result) in expected.items():
        out = empty(3, 4, dtype=dtype)
        call(name, *arguments, out)
        close(out, result)
    x_npu = npu(x, dtype)
    call("aclnnInplaceXLogYTensor", x_npu, npu(y, dtype))
    close(x_npu, torch.xlogy(exact_x, exact_y))


def test_real_part_of_complex_numbers():
    x, out = torch.complex(drawn(3, 4), drawn(3, 4)), empty(3, 4)
    call("aclnnReal", npu(x, torch.complex64), out)
    close(out, x.real)


@pytest.mark.parametrize("diagonal", [0, 2, -1])
def test_all_elements_on_a_diagonal(diagonal):
    x, size = torch.randint(1, 9, (2, 3)), 6 + abs(diagonal)
    out = empty(size, size, dtype=torch.int64)
    call("aclnnDiagFlat", npu(x, torch.int64), diagonal, out)
    assert out.cpu().equal(torch.diagflat(x, diagonal))


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0])
def test_distances_of_rows(p):
    x, out = drawn(4, 3), empty(6)
    call("aclnnPdistForward", npu(x), fraction(p), out)
    close(out, F.pdist(x, p))


@pytest.mark.parametrize("some", [True, False])
def test_qr(some):
    a = drawn(2, 4, 3)
    columns = 3 if some else 4
    q, r = empty(2, 4, columns), empty(2, columns, 3)
    call("aclnnQr", npu(a), some, q, r)
    close(q @ r, a)
    close(q.mT @ q, torch.eye(columns, dtype=torch.float64).expand(2, -1, -1))
    assert r.cpu().tril(-1).eq(0).all()


def test_circular_padding_of_volumes():
    x, out = drawn(1, 2, 3, 4, 5), empty(1, 2, 5, 7, 7)
    call("aclnnCircularPad3d", npu(x), [1, 1, 2, 1, 0, 2], out)
    close(out, F.pad(x, [1, 1, 2, 1, 0, 2], mode="circular"))


@pytest.mark.parametrize("aligned", [True, False])
def test_bilinear_upsampling(aligned):
    x, out = drawn(2, 3, 4, 5), empty(2, 3, 7, 6)
    call("aclnnUpsampleBilinear2D", npu(x), [7, 6], aligned, 1.0, 1.0, out)
    close(out, F.interpolate(x, (7, 6), mode="bilinear", align_corners=aligned))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_gated_gelu(dtype):
    x = drawn(3, 8).to(dtype)
    out, gelu = empty(3, 4, dtype=dtype), empty(3, 4, dtype=dtype)
    call("aclnnGeGlu", npu(x, dtype), -1, 1, out, gelu)
    plain, gate = x.double().chunk(2, -1)
    close(gelu, F.gelu(gate, approximate="tanh"))
    close(out, plain * F.gelu(gate, approximate="tanh"))


@pytest.mark.parametrize("activate", [True, False])
def test_group_norm_with_or_without_silu(activate):
    x, gamma, beta = drawn(2, 6, 5), drawn(6), drawn(6)
    out, mean, rstd = empty(2, 6, 5), empty(2, 3), empty(2, 3)
    call("aclnnGroupNormSiluV2", npu(x), npu(gamma), npu(beta), 3, 1e-5, activate, out, mean, rstd)
    normal = F.group_norm(x, 3, gamma, beta, 1e-5)
    close(out, F.silu(normal) if activate else normal)
    close(mean, x.view(2, 3, -1).mean(-1))
    close(rstd, (x.view(2, 3, -1).var(-1, correction=0) + 1e-5).rsqrt())


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 3, 2, 4, 3)])
def test_pools_of_whole_images(shape):
    x, dims = drawn(*shape), tuple(range(2, len(shape)))
    for name, expected in (("aclnnGlobalAveragePool", x.mean(dims, True)), ("aclnnGlobalMaxPool", x.amax(dims, True))):
        out = empty(*expected.shape)
        call(name, npu(x), out)
        close(out, expected)
    code, message = refusal("aclnnGlobalMaxPool", empty(2, 3, 4), empty(2, 3, 1))
    assert code == INVALID and "self: expected 4 to 8 dimensions" in message


@pytest.mark.parametrize(("dims", "keep", "noop"), [([1], False, False), ([0, 2], True, False), ([], False, False), ([], True, True)])
def test_largest_over_dimensions(dims, keep, noop):
    x = drawn(2, 3, 4)
    expected = x if noop and not dims else x.amax(dims or (0, 1, 2), keep)
    out = empty(*expected.shape)
    call("aclnnMaxV2", npu(x), dims, keep, noop, out)
    close(out, expected)


@pytest.mark.parametrize(("mode", "correction", "decay"), [(1, True, 0.1), (0, False, 0.1), (0, True, 0.0)])
def test_adam_with_a_moving_average(mode, correction, decay):
    grad, var, m, v, s = drawn(5), drawn(5).roll(1), drawn(5).roll(2), drawn(5).abs(), drawn(5).roll(3)
    tensors = [npu(tensor) for tensor in (grad, var, m, v, s)]
    step = torch.tensor([7], device=DEVICE)
    call("aclnnApplyFusedEmaAdam", *tensors, step, 1e-2, 0.99, 0.9, 0.999, 1e-8, mode, correction, decay)
    total = grad + decay * var * (1 - mode)
    m, v = 0.9 * m + 0.1 * total, 0.999 * v + 0.001 * total**2
    by_m, by_v = (1 - 0.9**7, 1 - 0.999**7) if correction else (1, 1)
    var = var - 1e-2 * (m / by_m / ((v / by_v).sqrt() + 1e-8) + decay * var * mode)
    for tensor, expected in zip(tensors[1:], (var, m, v, 0.99 * s + 0.01 * var), strict=True):
        close(tensor, expected)


@pytest.mark.parametrize("ends", [True, False])
def test_experts_that_share_rows_by_a_tensor(ends):
    x, first, second = drawn(5, 4), drawn(2, 4, 6), drawn(2, 6, 4)
    tokens = torch.tensor([2, 5] if ends else [2, 3], device=DEVICE)
    half = [npu(tensor, torch.float16) for tensor in (x, first, second)]
    out = empty(5, 4, dtype=torch.float16)
    call("aclnnFFNV3", *half, tokens, *([None] * 10), b"relu", 0, ends, out)
    rows, first, second = (tensor.cpu().double() for tensor in half)
    close(out, torch.cat([F.relu(rows[:2] @ first[0]) @ second[0], F.relu(rows[2:] @ first[1]) @ second[1]]))
    code, message = failure("aclnnFFNV3", *half, torch.tensor([2, 2], device=DEVICE), *([None] * 10), b"relu", 0, False, out)
    assert code != 0 and "expertTokens: expected the 5 rows of x in all" in message


def test_gradient_of_a_bias_for_each_group():
    grad = drawn(6, 3)
    for name, groups, more in (
        ("aclnnGroupedBiasAddGrad", [1, 4, 6], ()),
        ("aclnnGroupedBiasAddGradV2", [1, 4, 6], (0,)),
        ("aclnnGroupedBiasAddGradV2", [1, 3, 2], (1,)),
    ):
        out = empty(3, 3)
        call(name, npu(grad), torch.tensor(groups, dtype=torch.int32, device=DEVICE), *more, out)
        close(out, torch.stack([grad[:1].sum(0), grad[1:4].sum(0), grad[4:].sum(0)]))
    out = empty(2, 3)
    call("aclnnGroupedBiasAddGrad", npu(grad.view(2, 3, 3)), None, out)
    close(out, grad.view(2, 3, 3).sum(1))


@pytest.mark.parametrize("smooth", [True, False])
def test_adaptive_layer_norm_that_is_quantised(smooth):
    x, scale, shift, factors = (tensor.half() for tensor in (drawn(2, 3, 8), drawn(2, 8), drawn(2, 1, 8), drawn(8)))
    out, scales = empty(2, 3, 8, dtype=torch.int8), empty(2, 3)
    call(
        "aclnnAdaLayerNormQuant", *(npu(tensor, torch.float16) for tensor in (x, scale, shift)), None, None,
        npu(factors, torch.float16) if smooth else None, 1e-5, b"dynamic", out, scales,
    )  # fmt: skip
    normal = F.layer_norm(x.double(), (8,), eps=1e-5) * (1 + scale.double().unsqueeze(1)) + shift.double()
    if smooth:
        normal = normal * factors.double()
    close(scales, normal.abs().amax(-1) / 127)
    assert (out.cpu() - normal / scales.cpu().double().unsqueeze(-1)).abs().max() < 0.501


@pytest.mark.parametrize("weighted", [True, False])
def test_copies_of_a_range_back_to_tokens(weighted):
    tokens, copies, first, end = 4, 2, 1, 6
    order = torch.randperm(tokens * copies, generator=torch.Generator().manual_seed(4))
    rows, probs = drawn(end - first, 5), drawn(tokens, copies)
    out = empty(tokens, 5)
    call(
        "aclnnMoeTokenUnpermuteWithEp", npu(rows), npu(order, torch.int32), npu(probs) if weighted else None, copies, [first, end], False,
        None, out,
    )  # fmt: skip
    expected = torch.zeros(tokens, 5, dtype=torch.float64)
    for i, place in enumerate(order.tolist()):
        if first <= place < end:
            expected[i // copies] += rows[place - first] * (probs.flatten()[i] if weighted else 1)
    close(out, expected)


def sampled(image, y, x):
    """The value of an image {channels, height, width} between its pixels, as Mask R-CNN defines it."""
    height, width = image.shape[1:]
    if y < -1 or y > height or x < -1 or x > width:
        return torch.zeros(image.size(0), dtype=image.dtype)
    y, x = min(max(y, 0.0), height - 1.0), min(max(x, 0.0), width - 1.0)
    top, left = int(y), int(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    upper = image[:, top, left] * (1 - (x - left)) + image[:, top, right] * (x - left)
    lower = image[:, bottom, left] * (1 - (x - left)) + image[:, bottom, right] * (x - left)
    return upper * (1 - (y - top)) + lower * (y - top)


def region_pool(images, boxes, cells, scale, samples, aligned):
    pooled = []
    for number, *corners in boxes.tolist():
        x1, y1, x2, y2 = (corner * scale - (0.5 if aligned else 0) for corner in corners)
        width, height = (x2 - x1, y2 - y1) if aligned else (max(x2 - x1, 1.0), max(y2 - y1, 1.0))
        down, across = (samples, samples) if samples else (-int(-height // cells[0]), -int(-width // cells[1]))
        pooled.append(
            torch.stack([
                torch.stack([
                    sum(
                        sampled(images[int(number)], y1 + (row + (i + 0.5) / down) * height / cells[0],
                                x1 + (column + (j + 0.5) / across) * width / cells[1])
                        for i in range(down) for j in range(across)
                    ) / (down * across)
                    for column in range(cells[1])
                ], -1)
                for row in range(cells[0])
            ], -2)
        )  # fmt: skip
    return torch.stack(pooled)


BOXES = torch.tensor([[0, 1.0, 2.0, 13.0, 9.5], [1, 0.0, 0.0, 6.0, 15.0], [1, 3.5, 4.0, 3.75, 4.5]], dtype=torch.float64)


@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize("samples", [2, 0])
def test_regions_and_their_gradient(samples, aligned):
    images, grad = drawn(2, 3, 8, 7).requires_grad_(), drawn(3, 3, 2, 3)
    scale = ctypes.c_float(0.5)
    expected = region_pool(images, BOXES, (2, 3), 0.5, samples, aligned)
    out, of_images = empty(3, 3, 2, 3), empty(2, 3, 8, 7)
    call("aclnnRoiAlignV2", npu(images.detach()), npu(BOXES), 2, 3, scale, samples, aligned, out)
    close(out, expected.detach())
    call("aclnnRoiAlignV2Backward", npu(grad), npu(BOXES), [2, 3, 8, 7], 2, 3, scale, samples, aligned, of_images)
    close(of_images, torch.autograd.grad(expected, images, grad)[0])


def test_regions_as_onnx_has_them():
    images, out = drawn(2, 3, 8, 7), empty(3, 3, 2, 3)
    arguments = (npu(images), npu(BOXES[:, 1:]), npu(BOXES[:, 0], torch.int32))
    sizes = (ctypes.c_int(2), ctypes.c_int(3), ctypes.c_int(2), ctypes.c_float(0.5))
    call("aclnnRoiAlign", *arguments, b"avg", *sizes, out)
    close(out, region_pool(images, BOXES, (2, 3), 0.5, 2, False))
    code, message = refusal("aclnnRoiAlign", *arguments, b"max", *sizes, out)
    assert code == INVALID and "mode: expected avg: the documents do not say of what max is, got max" in message


def test_region_of_another_image_is_reported():
    boxes = npu(torch.tensor([[2, 0.0, 0.0, 4.0, 4.0]]))
    code, message = failure("aclnnRoiAlignV2", empty(2, 3, 8, 7).zero_(), boxes, 2, 3, ctypes.c_float(1), 2, True, empty(1, 3, 2, 3))
    assert code == 507015 and "boxes" in message


NORMALS = [("MatmulAllReduceAddRmsNorm", "plain"), ("QuantMatmulAllReduceAddRmsNorm", "integers"),
           ("WeightQuantMatmulAllReduceAddRmsNorm", "weight")]  # fmt: skip


@pytest.mark.parametrize("inplace", [True, False])
@pytest.mark.parametrize(("name", "form"), NORMALS)
def test_sum_over_ranks_and_its_normal(name, form, inplace):
    x1, x2, residual, gamma = (tensor.half() for tensor in (drawn(2, 3, 4), drawn(4, 6), drawn(2, 3, 6), drawn(6)))
    scales, more = (), ()
    if form == "integers":
        x1, x2 = torch.randint(-9, 9, (2, 3, 4)).to(torch.int8), torch.randint(-9, 9, (4, 6)).to(torch.int8)
    if form == "weight":
        x2 = torch.randint(-9, 9, (4, 6)).to(torch.int8)
    if form != "plain":
        scale = (drawn(6).abs() / 16).to(torch.bfloat16 if form == "integers" else torch.float16)
        residual, gamma = (residual.bfloat16(), gamma.bfloat16()) if form == "integers" else (residual, gamma)
        scales = (scale,) if form == "integers" else (scale, None)
        more = () if form == "integers" else (ctypes.c_int64(0),)
    product = x1.double() @ (x2.double() * (scales[0].double() if scales else 1))
    total = product + residual.double()
    normal = total * (total.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt() * gamma.double()
    moved = [None if tensor is None else tensor.to(DEVICE) for tensor in (x1, x2, None, *scales, residual, gamma)]
    y, out = torch.empty_like(moved[-2]), torch.empty_like(moved[-2])
    results = (out,) if inplace else (y, out)
    with one_rank(OWN):
        call(f"aclnn{'Inplace' if inplace else ''}{name}", *moved, 1e-6, OWN, b"sum", 0, 1, *more, *results)
    close(moved[-2] if inplace else y, total)
    close(out, normal)


def test_sums_over_ranks_of_scaled_numbers():
    x, scales = torch.randint(-9, 9, (2, 3, 256)).to(torch.int8), drawn(2, 3, 2).float()
    expected = x.double() * scales.double().repeat_interleave(128, -1)
    for name, sizes in (("aclnnQuantAllReduce", (2, 3, 256)), ("aclnnQuantReduceScatter", (6, 256))):
        out = empty(*sizes)
        with one_rank(OWN):
            call(name, x.to(DEVICE), scales.to(DEVICE), OWN, b"sum", out)
        close(out, expected.view(sizes))
        with one_rank(OWN):
            code, message = refusal(name, x.to(DEVICE), empty(2, 3, 3), OWN, b"sum", out)
        assert code == INVALID and "scales: expected shape [2, 3, 2]" in message


def test_grouped_products_of_ranks():
    x, weight = (drawn(2, 4).half(), drawn(3, 5).half()), (drawn(4, 3).half(), drawn(5, 2).half())
    outs = tuple(empty(a.size(0), b.size(1), dtype=torch.float16) for a, b in zip(x, weight, strict=True))
    lists = (tuple(one.to(DEVICE) for one in of) for of in (x, weight))
    with one_rank(OWN):
        call("aclnnGroupedMatMulAllReduce", *lists, None, None, 0, OWN, b"sum", 0, 1, outs)
    for out, a, b in zip(outs, x, weight, strict=True):
        close(out, a.double() @ b.double())


@pytest.mark.parametrize("offsets", [None, [3.0, -300.0, 0.6]])
def test_parameters_of_quantisation_in_host_memory(offsets):
    """The upper 19 bits of the scale, the offset in 9 bits from bit 37 on, and bit 46."""
    library, scales = ctypes.CDLL("libopapi.so"), [0.3, 1.0, 2.5]
    result, count = ctypes.POINTER(ctypes.c_uint64)(), ctypes.c_uint64()

    def transform(scales, scale_count, offsets, offset_count):
        return library.aclnnTransQuantParam(
            scales, ctypes.c_uint64(scale_count), offsets, ctypes.c_uint64(offset_count), ctypes.byref(result), ctypes.byref(count)
        )

    of_scales, of_offsets = ((ctypes.c_float * 3)(*values) if values else None for values in (scales, offsets))
    assert transform(of_scales, 3, of_offsets, 3 if offsets else 0) == 0 and count.value == 3
    for i, scale in enumerate(scales):
        bits = ctypes.c_uint32.from_buffer_copy(ctypes.c_float(scale)).value & 0xFFFFE000
        nearest = max(-256, min(255, round(offsets[i]))) if offsets else 0
        assert result[i] == bits | (nearest & 0x1FF) << 37 | 1 << 46
    assert transform(None, 3, None, 0) == 161001
    assert transform(of_scales, 0, None, 0) == transform(of_scales, 3, None, 1) == INVALID
