"""detection.cpp against definitions in float64, which look at one box, one sample or one output after the other."""

import itertools
import math
import time
from ctypes import c_float, c_int32

import pytest
import torch
import torch.nn.functional as F
import torch_npu

from cases import DEVICE, close
from direct import call, refusal
from support.marks import PRODUCT


def boxes(count):
    low = torch.rand(count, 2, dtype=torch.float64) * 10
    return torch.cat([low, low + 1 + torch.rand(count, 2) * 10], 1).float()


def overlap(a, b, mode, epsilon=0.0):
    """Of one box with one other, {x0, y0, x1, y1} each."""
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    common = max(width, 0) * max(height, 0)
    first, second = (a[2] - a[0]) * (a[3] - a[1]), (b[2] - b[0]) * (b[3] - b[1])
    return common / ((second if mode == "iof" else first + second - common) + epsilon)


@pytest.mark.parametrize("mode", ["iou", "iof"])
@pytest.mark.parametrize("aligned", [False, True])
def test_iou(mode, aligned):
    first, second = boxes(5), boxes(5 if aligned else 3)
    out = torch.empty(5, 1 if aligned else 3, device=DEVICE)
    call("aclnnIou", first.to(DEVICE), second.to(DEVICE), mode.encode(), c_float(0.25), aligned, out)
    expected = [[overlap(a, b, mode, 0.25) for b in ([second[i]] if aligned else second)] for i, a in enumerate(first)]
    assert out.cpu().max() > 0
    close(out, torch.tensor(expected, dtype=torch.float64))


def complete_overlap(a, b, mode):
    """The loss's formula, without the tiny numbers that keep divisors from 0."""
    centres = [[(box[i] + box[i + 2]) / 2 for i in (0, 1)] for box in (a, b)]
    across = max(a[2], b[2]) - min(a[0], b[0]), max(a[3], b[3]) - min(a[1], b[1])
    angle = math.atan((b[2] - b[0]) / (b[3] - b[1])) - math.atan((a[2] - a[0]) / (a[3] - a[1]))
    shapes, common = 4 / math.pi**2 * angle**2, overlap(a, b, mode)
    return common - math.dist(*centres) ** 2 / math.hypot(*across) ** 2 - shapes**2 / (1 - common + shapes), angle


@pytest.mark.parametrize("mode", ["iou", "iof"])
@pytest.mark.parametrize("cross", [False, True])
@pytest.mark.parametrize("centred", [False, True])
def test_ciou(mode, cross, centred):
    first, second = boxes(4), boxes(3 if cross else 4)
    given = [torch.cat([(b[:, :2] + b[:, 2:]) / 2, b[:, 2:] - b[:, :2]], 1) if centred else b for b in (first, second)]
    out, angles = torch.empty(2, 3 if cross else 1, 4, device=DEVICE)
    call("aclnnCIoU", *(b.t().contiguous().to(DEVICE) for b in given), centred, cross, mode.encode(), out, angles)
    rows = [[complete_overlap(a, b, mode) for a in first.tolist()] for b in second.tolist()]
    rows = rows if cross else [[rows[i][i] for i in range(4)]]
    close(out, torch.tensor(rows, dtype=torch.float64)[..., 0])
    close(angles, torch.tensor(rows, dtype=torch.float64)[..., 1])


def sample(image, y, x):
    """Between four pixels; outside of the image, of its border up to a pixel away, and 0 beyond."""
    height, width = image.shape[-2:]
    if not (-1 <= y <= height and -1 <= x <= width):
        return image[:, 0, 0] * 0
    y, x = (min(max(place, 0.0), size - 1.0) for place, size in ((y, height), (x, width)))
    top, left = int(y), int(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    upper, lower = (image[:, row, left] * (left + 1 - x) + image[:, row, right] * (x - left) for row in (top, bottom))
    return upper * (top + 1 - y) + lower * (y - top)


def aligned(images, rois, scale, height, width, samples, end):
    outputs = []
    for image, x0, y0, x1, y1 in rois.tolist():
        sizes = [max((last + end - first) * scale, 1.0) for first, last in ((y0, y1), (x0, x1))]
        counts = [samples or math.ceil(size / bins) for size, bins in zip(sizes, (height, width), strict=True)]
        steps = [size / bins / count for size, bins, count in zip(sizes, (height, width), counts, strict=True)]
        bins = []
        for row, column in itertools.product(range(height), range(width)):
            places = itertools.product(*(range(n * i, n * (i + 1)) for n, i in zip(counts, (row, column), strict=True)))
            samples_of_bin = [
                sample(images[int(image)], y0 * scale + (i + 0.5) * steps[0], x0 * scale + (j + 0.5) * steps[1]) for i, j in places
            ]
            bins.append(sum(samples_of_bin) / len(samples_of_bin))
        outputs.append(torch.stack(bins, 1).unflatten(1, (height, width)))
    return torch.stack(outputs)


@pytest.mark.parametrize("samples", [0, 2])
@pytest.mark.parametrize("end", [0, 1])
def test_roi_align(samples, end):
    images = torch.randn(2, 3, 8, 7)
    rois = torch.tensor([[0, 1.0, 2, 20, 30], [1, -9, -7, 5, 11], [1, 4, 4, 4, 4], [0, 25, 3, 60, 40]])
    exact = images.double().requires_grad_()
    expected = aligned(exact, rois, 0.25, 2, 3, samples, end)
    close(torch_npu.npu_roi_align(images.to(DEVICE), rois.to(DEVICE), 0.25, 2, 3, samples, end), expected)
    grad = torch.randn(expected.shape)
    expected.backward(grad.double())
    got = torch_npu.npu_roi_alignbk(grad.to(DEVICE), rois.to(DEVICE), list(images.shape), 3, 2, 0.25, samples, end)
    close(got, exact.grad)


def test_roi_align_refuses_an_image_that_is_not_there():
    images, rois = torch.zeros(1, 1, 4, 4, device=DEVICE), torch.tensor([[1.0, 0, 0, 2, 2]], device=DEVICE)
    with pytest.raises(RuntimeError):
        torch_npu.npu_roi_align(images, rois, 1.0, 2, 2, 2, 0).cpu()


def bilinear(image, y, x):
    """Of pixels that are there; the others are 0."""
    top, left = math.floor(y), math.floor(x)
    total = image[:, 0, 0] * 0
    for row, by_row in ((top, top + 1 - y), (top + 1, y - top)):
        for column, by_column in ((left, left + 1 - x), (left + 1, x - left)):
            if 0 <= row < image.shape[1] and 0 <= column < image.shape[2]:
                total = total + image[:, row, column] * by_row * by_column
    return total


def deformed(x, offset, kernel, stride, padding, dilation, parts, modulated):
    (images, channels), (rows, columns) = x.shape[:2], offset.shape[2:]
    taps = offset.reshape(images, 3 if modulated else 2, parts, *kernel, rows, columns)
    out = torch.zeros(images, channels, rows * kernel[0], columns * kernel[1], dtype=torch.float64)
    places = [(n, g, i, j, r, c) for n in range(images) for g in range(parts) for i in range(kernel[0]) for j in range(kernel[1])
              for r in range(rows) for c in range(columns)]  # fmt: skip
    for n, g, i, j, r, c in places:
        part = slice(g * channels // parts, (g + 1) * channels // parts)
        right = c * stride[3] - padding[2] + j * dilation[3] + taps[n, 0, g, i, j, r, c]
        down = r * stride[2] - padding[0] + i * dilation[2] + taps[n, 1, g, i, j, r, c]
        value = bilinear(x[n, part], down, right)
        out[n, part, r * kernel[0] + i, c * kernel[1] + j] = value * (taps[n, 2, g, i, j, r, c] if modulated else 1)
    return out


@pytest.mark.parametrize(("parts", "groups", "modulated"), [(1, 1, True), (2, 1, False), (2, 2, True)])
def test_deformable_convolution(parts, groups, modulated):
    kernel, stride, padding, dilation = [2, 3], [1, 1, 2, 1], [1, 0, 2, 1], [1, 1, 1, 2]
    x, weight, bias = torch.randn(2, 4, 5, 6), torch.randn(6, 4 // groups, 2, 3), torch.randn(6)
    rows, columns = (5 + 1 - 2) // 2 + 1, 6 + 3 - 5 + 1
    offset = torch.randn(2, (3 if modulated else 2) * parts * 6, rows, columns) * 2
    exact = [t.double().requires_grad_() for t in (x, weight, offset, bias)]
    sampled = deformed(exact[0], exact[2], kernel, stride, padding, dilation, parts, modulated)
    expected = F.conv2d(sampled, exact[1], exact[3], stride=kernel, groups=groups)
    there = [t.to(DEVICE) for t in (x, weight, offset, bias)]
    out, sampled_out = torch.empty(expected.shape, device=DEVICE), torch.empty(sampled.shape, device=DEVICE)
    steps = kernel, stride, padding, dilation, groups, parts, modulated
    call("aclnnDeformableConv2d", *there, *steps, out, sampled_out)
    close(sampled_out, sampled)
    close(out, expected, 1e-4)
    grad = torch.randn(expected.shape)
    expected.backward(grad.double())
    got = [torch.empty_like(t) for t in there]
    call("aclnnDeformableConv2dBackward", there[0], grad.to(DEVICE), sampled_out, *there[1:3], *steps, *got)
    for have, want in zip(got, exact, strict=True):
        close(have, want.grad, 1e-4)


def test_deformable_convolution_refuses_an_offset_of_another_size():
    def zeros(*sizes):
        return torch.zeros(sizes, device=DEVICE)

    steps = [2, 2], [1] * 4, [0] * 4, [1] * 4, 1, 1, True
    code, message = refusal(
        "aclnnDeformableConv2d", zeros(1, 2, 4, 4), zeros(2, 2, 2, 2), zeros(1, 8, 3, 3), None, *steps, zeros(1, 2, 3, 3), zeros(1, 2, 6, 6)
    )
    assert code == 161002 and "offset" in message


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32])
def test_a_number_is_at_least_a_tensor(dtype):
    x = torch.tensor([1, 2, 3], dtype=dtype)
    assert torch.ge(torch.tensor(2, dtype=dtype), x.to(DEVICE)).cpu().tolist() == [True, True, False]


@pytest.mark.parametrize("bias_type", [None, torch.int32, torch.float16])
def test_quant_convolution(bias_type):
    x, weight = torch.randint(-128, 128, (2, 4, 5, 6), dtype=torch.int8), torch.randint(-128, 128, (6, 2, 3, 2), dtype=torch.int8)
    scale, bias = torch.rand(6) / 1000, None if bias_type is None else (torch.randn(6) * 50).to(bias_type)
    sums = F.conv2d(x.double(), weight.double(), None, (2, 1), (1, 0), (1, 2), 2)
    expected = sums * scale.double().view(6, 1, 1)
    if bias is not None:
        by = scale.double() if bias_type == torch.int32 else 1
        expected = expected + (bias.double() * by).view(6, 1, 1)
    out = torch.empty(expected.shape, dtype=torch.float16, device=DEVICE)
    there = [None if t is None else t.to(DEVICE) for t in (x, weight, bias, scale)]
    call("aclnnQuantConvolution", *there, None, [2, 1], [1, 0], [1, 2], False, [0, 0], 2, c_int32(0), b"rint", out)
    assert out.cpu().equal(expected.half())


def test_sleep():
    torch.npu.synchronize()
    begin = time.monotonic()
    torch_npu.npu._sleep(200_000_000)
    torch.npu.synchronize()
    assert time.monotonic() - begin >= 0.2


@pytest.mark.skipif(PRODUCT != "950", reason="torch_npu calls the operators by name elsewhere")
def test_overlaps_of_torch_npu():
    first, second = boxes(3), boxes(2)
    expected = torch.tensor([[overlap(a, b, "iou", 0.01) for a in first] for b in second], dtype=torch.float64)
    close(torch_npu.npu_iou(first.to(DEVICE), second.to(DEVICE)), expected)
