"""detection.cpp against definitions in float64."""

import itertools
import math
from ctypes import c_float

import pytest
import torch
import torch.nn.functional as F
import torch_npu
from checks import DEVICE, FLOATS, close

from direct import call, fails
from support.marks import of_the_950


def boxes(count):
    low = torch.rand(count, 2, dtype=torch.float64) * 10
    return torch.cat([low, low + 1 + torch.rand(count, 2) * 10], 1).float()


def overlap(a, b, mode, epsilon=0.0):
    """Return the overlap of two boxes, {x0, y0, x1, y1} each."""
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    common = max(width, 0) * max(height, 0)
    first, second = (a[2] - a[0]) * (a[3] - a[1]), (b[2] - b[0]) * (b[3] - b[1])
    return common / ((second if mode == "iof" else first + second - common) + epsilon)


def complete_overlap(a, b, mode):
    """The loss's formula, without the tiny numbers that keep divisors from 0."""
    centres = [[(box[i] + box[i + 2]) / 2 for i in (0, 1)] for box in (a, b)]
    across = max(a[2], b[2]) - min(a[0], b[0]), max(a[3], b[3]) - min(a[1], b[1])
    angle = math.atan((b[2] - b[0]) / (b[3] - b[1])) - math.atan((a[2] - a[0]) / (a[3] - a[1]))
    shapes, common = 4 / math.pi**2 * angle**2, overlap(a, b, mode)
    return common - math.dist(*centres) ** 2 / math.hypot(*across) ** 2 - shapes**2 / (1 - common + shapes), angle


def bilinear(image, y, x):
    """Interpolate pixels; those that are not there are 0."""
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


def attended(value, sizes, starts, location, weight):
    """Return the weighted sums of the samples of each head, at (x, y) from 0 to 1 in maps of several sizes."""
    images, queries, heads, levels, samples = weight.shape
    out = torch.zeros(images, queries, heads, value.shape[-1], dtype=torch.float64)
    for n, q, h, level, p in itertools.product(*map(range, (images, queries, heads, levels, samples))):
        (rows, columns), start = sizes[level].tolist(), starts[level].item()
        image = value[n, start : start + rows * columns, h].t().view(-1, rows, columns)
        x, y = location[n, q, h, level, p]
        out[n, q, h] = out[n, q, h] + bilinear(image, y * rows - 0.5, x * columns - 0.5) * weight[n, q, h, level, p]
    return out.flatten(2)


@pytest.mark.parametrize("mode", ["iou", "iof"])
@pytest.mark.parametrize("aligned", [False, True])
def test_iou(mode, aligned):
    first, second = boxes(5), boxes(5 if aligned else 3)
    out = torch.empty(5, 1 if aligned else 3, device=DEVICE)
    call("aclnnIou", first, second, mode.encode(), c_float(0.25), aligned, out)
    expected = [[overlap(a, b, mode, 0.25) for b in ([second[i]] if aligned else second)] for i, a in enumerate(first)]
    assert out.cpu().max() > 0
    close(out, torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize("mode", ["iou", "iof"])
@pytest.mark.parametrize("cross", [False, True])
@pytest.mark.parametrize("centred", [False, True])
def test_ciou(mode, cross, centred):
    first, second = boxes(4), boxes(3 if cross else 4)
    given = [torch.cat([(b[:, :2] + b[:, 2:]) / 2, b[:, 2:] - b[:, :2]], 1) if centred else b for b in (first, second)]
    out, angles = torch.empty(2, 3 if cross else 1, 4, device=DEVICE)
    call("aclnnCIoU", *(b.t().contiguous() for b in given), centred, cross, mode.encode(), out, angles)
    rows = [[complete_overlap(a, b, mode) for a in first.tolist()] for b in second.tolist()]
    rows = rows if cross else [[rows[i][i] for i in range(4)]]
    close(out, torch.tensor(rows, dtype=torch.float64)[..., 0])
    close(angles, torch.tensor(rows, dtype=torch.float64)[..., 1])


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
    call("aclnnDeformableConv2dBackward", there[0], grad, sampled_out, *there[1:3], *steps, *got)
    for have, want in zip(got, exact, strict=True):
        close(have, want.grad, 1e-4)


# The second map lies in front of the first one.
SIZES, STARTS = torch.tensor([[3, 4], [2, 1]]), torch.tensor([2, 0])


@pytest.mark.parametrize(("dtype", "index"), [*zip(FLOATS, (torch.int32, torch.int64, torch.int32), strict=True)], ids=str)
def test_attention_to_samples_of_several_maps(dtype, index):
    given = [torch.randn(2, 14, 2, 8), torch.rand(2, 3, 2, 2, 2, 2) * 1.4 - 0.2, torch.rand(2, 3, 2, 2, 2), torch.randn(2, 3, 16)]
    value, location, weight, grad = (one.to(dtype) for one in given)
    exact = [one.double().requires_grad_() for one in (value, location, weight)]
    expected = attended(exact[0], SIZES, STARTS, *exact[1:])
    arguments = value, SIZES.to(index), STARTS.to(index), location, weight
    for out in (torch.empty(2, 3, 16, dtype=dtype, device=DEVICE), torch.empty(2, 3, 2, 8, dtype=dtype, device=DEVICE)):
        call("aclnnMultiScaleDeformableAttnFunction", *arguments, out)
        close(out.flatten(2), expected)
    got = [torch.empty(one.shape, dtype=dtype, device=DEVICE) for one in exact]
    call("aclnnMultiScaleDeformableAttentionGrad", *arguments, grad, *got)
    close(got, torch.autograd.grad(expected, exact, grad.double()))


@pytest.mark.parametrize(("sizes", "starts", "name"), [(SIZES + 1, STARTS, "spatialShape"), (SIZES, STARTS + 15, "levelStartIndex")])
def test_maps_that_are_not_there(sizes, starts, name):
    location, weight, out = torch.rand(2, 3, 2, 2, 2, 2), torch.rand(2, 3, 2, 2, 2), torch.empty(2, 3, 16, device=DEVICE)
    fails(f"{name}: expected", "aclnnMultiScaleDeformableAttnFunction", torch.ones(2, 14, 2, 8), sizes, starts, location, weight, out)


@of_the_950  # elsewhere torch_npu calls the operators by name
def test_overlaps_of_torch_npu():
    first, second = boxes(3), boxes(2)
    expected = torch.tensor([[overlap(a, b, "iou", 0.01) for a in first] for b in second], dtype=torch.float64)
    close(torch_npu.npu_iou(first.to(DEVICE), second.to(DEVICE)), expected)
