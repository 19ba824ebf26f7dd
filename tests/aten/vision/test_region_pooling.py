"""region_pooling.cpp against a definition in float64, which looks at one region and one channel's sample after the other."""

import math
from ctypes import c_float, c_int

import pytest
import torch
import torch.nn.functional as F
import torch_npu
from checks import DEVICE, check, close, drawn, on_npu

from direct import fails


def sampled(image, y, x):
    """Between four pixels, as Mask R-CNN defines it: outside of the image, of its border up to a pixel away, and 0 beyond."""
    height, width = image.shape[-2:]
    if not (-1 <= y <= height and -1 <= x <= width):
        return image[:, 0, 0] * 0
    y, x = (min(max(place, 0.0), size - 1.0) for place, size in ((y, height), (x, width)))
    top, left = int(y), int(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    upper, lower = (image[:, row, left] * (left + 1 - x) + image[:, row, right] * (x - left) for row in (top, bottom))
    return upper * (top + 1 - y) + lower * (y - top)


def pooled(images, regions, cells, scale, samples, *, end=0, corner=0.0, least=1.0):
    """Return for regions {image, x0, y0, x1, y1} the mean of each cell's samples, as many as it has pixels, or a given number."""
    outputs = []
    for image, x0, y0, x1, y1 in regions.tolist():
        places, counts = [], []
        for first, last, bins in ((y0, y1, cells[0]), (x0, x1, cells[1])):
            size = max((last + end - first) * scale, least)
            counts.append(samples or math.ceil(size / bins))
            places.append([first * scale - corner + (i + 0.5) * size / bins / counts[-1] for i in range(bins * counts[-1])])
        values = torch.stack([torch.stack([sampled(images[int(image)], y, x) for x in places[1]], -1) for y in places[0]], -2)
        outputs.append(F.avg_pool2d(values, counts))
    return torch.stack(outputs)


@pytest.mark.parametrize("samples", [0, 2])
@pytest.mark.parametrize("end", [0, 1])
def test_roi_align(samples, end):
    images = torch.randn(2, 3, 8, 7)
    rois = torch.tensor([[0, 1.0, 2, 20, 30], [1, -9, -7, 5, 11], [1, 4, 4, 4, 4], [0, 25, 3, 60, 40]])
    exact = images.double().requires_grad_()
    expected = pooled(exact, rois, (2, 3), 0.25, samples, end=end)
    close(torch_npu.npu_roi_align(images.to(DEVICE), rois.to(DEVICE), 0.25, 2, 3, samples, end), expected)
    grad = torch.randn(expected.shape)
    expected.backward(grad.double())
    got = on_npu(torch_npu.npu_roi_alignbk, grad, rois, list(images.shape), 3, 2, 0.25, samples, end)
    close(got, exact.grad)


BOXES = torch.tensor([[0, 1.0, 2.0, 13.0, 9.5], [1, 0.0, 0.0, 6.0, 15.0], [1, 3.5, 4.0, 3.75, 4.5]])


@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize("samples", [2, 0])
def test_the_second_version_and_its_gradient(samples, aligned):
    images, grad = drawn(2, 3, 8, 7).requires_grad_(), drawn(3, 3, 2, 3)
    rest = 2, 3, c_float(0.5), samples, aligned
    expected = pooled(images, BOXES, (2, 3), 0.5, samples, **({"corner": 0.5, "least": -math.inf} if aligned else {}))
    check("aclnnRoiAlignV2", (images.detach().float(), BOXES, *rest), expected)
    check("aclnnRoiAlignV2Backward", (grad.float(), BOXES, [2, 3, 8, 7], *rest), torch.autograd.grad(expected, images, grad)[0])


def test_regions_as_onnx_has_them():
    images, sizes = drawn(2, 3, 8, 7), (c_int(2), c_int(3), c_int(2), c_float(0.5))
    arguments = images.float(), BOXES[:, 1:].contiguous(), BOXES[:, 0].int()
    check("aclnnRoiAlign", (*arguments, b"avg", *sizes), pooled(images, BOXES, (2, 3), 0.5, 2))


def test_a_region_of_another_image_is_found():
    images, region = torch.zeros(2, 3, 8, 7), torch.tensor([[2, 0.0, 0, 4, 4]])
    fails("boxes", "aclnnRoiAlignV2", images, region, 2, 3, c_float(1), 2, True, torch.zeros(1, 3, 2, 3))
    with pytest.raises(RuntimeError):
        torch_npu.npu_roi_align(images.to(DEVICE), region.to(DEVICE), 1.0, 2, 2, 2, 0).cpu()


def test_regions_whose_pixels_are_in_the_middle_of_their_squares():
    image, rois = torch.arange(1.0, 37).view(1, 1, 6, 6), torch.tensor([[0, -2.0, -2.0, 22.0, 22.0]]).to(DEVICE)
    result = torch_npu.npu_roi_align(image.to(DEVICE), rois, 0.25, 3, 3, 2, 3)
    assert result.cpu().flatten().tolist() == [2.75, 4.5, 6.5, 13.25, 15.0, 17.0, 25.25, 27.0, 29.0]
    grad = torch_npu.npu_roi_alignbk(torch.ones_like(result), rois, [1, 1, 6, 6], 3, 3, 0.25, 2, 3)
    along = torch.tensor([0.75, 0.5, 0.5, 0.5, 0.5, 0.25])
    assert grad.cpu()[0, 0].equal(along.unsqueeze(1) * along)
