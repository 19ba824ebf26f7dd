"""upsample.cpp against definitions in float64."""

from ctypes import c_int

import pytest
import torch
import torch.nn.functional as F
from checks import DEVICE, FLOATS, check, definitions, drawn

from cases import LAYOUTS, randn, rows_with, table, uniform
from direct import fails

CUBES = [drawn(3, 4, 5)]
NEAREST = torch.arange(30).view(2, 5, 3) * 7 % 6
PICTURE, POINTS = [drawn(2, 3, 4, 5)], [drawn(2, 4, 5), drawn(2, 5, 3)]


def resized(x, aligned):
    return F.interpolate(x, (7, 6), mode="bilinear", align_corners=aligned)


def among_points(grad, weight):
    """The gradient of 6 points, of which three each were interpolated."""
    out = torch.zeros(2, 4, 6, dtype=torch.float64)
    for b, n, i in torch.cartesian_prod(*map(torch.arange, weight.shape)).tolist():
        out[b, :, NEAREST[b, n, i]] += grad[b, :, n] * weight[b, n, i]
    return out


LINE, PLANE, VOLUME = randn(2, 3, 5), randn(2, 3, 4, 5), randn(1, 2, 3, 4, 5)

# The adapters compute all in float32.
IN_FLOAT = {"dtypes": (torch.float32,), "layouts": LAYOUTS[:1]}
FORWARD = {**IN_FLOAT, "backward": False}
resample = rows_with(dtypes=FLOATS, layouts=LAYOUTS, close=True, upcast=True, backward=True)


def interpolate(mode, x, size, scale, **arguments):
    return [
        *resample(f"{mode}-size", lambda x: F.interpolate(x, size, mode=mode, **arguments), x, dtypes=FLOATS[:2]),
        *resample(f"{mode}-scale", lambda x: F.interpolate(x, scale_factor=scale, mode=mode, **arguments), x, **IN_FLOAT),
    ]


def aligned(mode, x, size):
    return resample(f"{mode}-aligned", lambda x: F.interpolate(x, size, mode=mode, align_corners=True), x, dtypes=FLOATS[::2])


IMAGE, GRID = randn(2, 3, 5, 6), uniform(2, 4, 3, 2, low=-1.2, high=1.2)
CUBE, CUBE_GRID = randn(1, 2, 3, 4, 5), uniform(1, 2, 3, 4, 3, low=-1.2, high=1.2)


def grid_sample(mode, padding):
    return lambda x, grid: F.grid_sample(x, grid, mode, padding, align_corners=False)


CASES = [
    *interpolate("nearest", LINE, 8, 1.7),
    *interpolate("nearest", PLANE, (7, 3), (2.0, 1.5)),
    *interpolate("nearest", VOLUME, (5, 3, 8), 2.0),
    *interpolate("nearest-exact", LINE, 8, 1.7),
    *interpolate("nearest-exact", PLANE, (7, 3), (2.0, 1.5)),
    *interpolate("nearest-exact", VOLUME, (5, 3, 8), 2.0),
    *interpolate("linear", LINE, 8, 1.7),
    *aligned("linear", LINE, 8),
    *interpolate("bilinear", PLANE, (7, 3), (2.0, 1.5)),
    *aligned("bilinear", PLANE, (7, 9)),
    *interpolate("trilinear", VOLUME, (5, 3, 8), 2.0),
    *aligned("trilinear", VOLUME, (5, 3, 8)),
    *interpolate("bicubic", PLANE, (7, 3), (2.0, 1.5)),
    *aligned("bicubic", PLANE, (7, 9)),
    *resample("bilinear-antialias", lambda x: F.interpolate(x, (3, 4), mode="bilinear", antialias=True), PLANE, **IN_FLOAT),
    *resample("bicubic-antialias", lambda x: F.interpolate(x, (3, 4), mode="bicubic", antialias=True), PLANE, **IN_FLOAT),
    *resample("affine_grid", lambda t: F.affine_grid(t, (2, 3, 4, 5), align_corners=True), randn(2, 2, 3), **IN_FLOAT),
    *resample("affine_grid-3d", lambda t: F.affine_grid(t, (2, 3, 4, 5, 6), align_corners=False), randn(2, 3, 4), **FORWARD),
    *(
        row
        for mode in ("bilinear", "nearest")
        for padding in ("zeros", "border", "reflection")
        for row in resample(f"grid_sample-{mode}-{padding}", grid_sample(mode, padding), IMAGE, GRID, **IN_FLOAT)
    ),
    *resample("grid_sample-3d", lambda *x: F.grid_sample(*x, align_corners=True), CUBE, CUBE_GRID, **IN_FLOAT),
]
ROWS = [
    ("aclnnUpsampleNearest1d", CUBES, ([7],), lambda x: x[:, :, [i * 5 // 7 for i in range(7)]], FLOATS),
    ("aclnnUpsampleNearest2d", PICTURE, ([7, 10],), lambda x: x[:, :, [0, 0, 1, 1, 2, 2, 3]].repeat_interleave(2, 3), FLOATS[:2]),
    *[("aclnnUpsampleBilinear2D", PICTURE, ([7, 6], a, 1.0, 1.0), lambda x, a=a: resized(x, a), FLOATS[:1]) for a in (True, False)],
    *[
        ("aclnnThreeInterpolateBackward", POINTS, lambda g, w, i=i: (g, i, w, c_int(6)), among_points, FLOATS[:2])
        for i in (NEAREST, NEAREST.int())
    ],
]
test_definitions = definitions(ROWS)


@pytest.mark.parametrize("align", [False, True])
def test_gradient_of_bilinear_upsampling(align):
    grad, x = torch.randn(2, 3, 6, 8), torch.zeros(2, 3, 3, 5, dtype=torch.float64, requires_grad=True)
    F.interpolate(x, size=(6, 8), mode="bilinear", align_corners=align).backward(grad.double())
    check("aclnnUpsampleBilinear2dBackward", (grad, [6, 8], [2, 3, 3, 5], align, 0.0, 0.0), x.grad)


test_torchs_functions = pytest.mark.filterwarnings("ignore")(table(CASES))


@pytest.mark.parametrize("padding", ["border", "reflection"])
def test_places_that_are_no_numbers_are_the_first_pixel(padding):
    """ATen's gradient writes outside of the image there."""
    image = torch.ones(1, 1, 3, 4, device=DEVICE, requires_grad=True)
    grid = torch.full((1, 2, 5, 2), torch.nan, device=DEVICE)
    F.grid_sample(image, grid, padding_mode=padding, align_corners=True).sum().backward()
    expected = torch.zeros(3, 4)
    expected[0, 0] = 10
    assert torch.equal(image.grad.cpu()[0, 0], expected)


def test_a_point_that_is_not_there():
    grad, weight, out = torch.ones(2, 4, 5), torch.ones(2, 5, 3), torch.empty(2, 4, 5, device=DEVICE)
    fails("idx: expected", "aclnnThreeInterpolateBackward", grad, NEAREST, weight, c_int(5), out)
