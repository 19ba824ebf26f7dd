"""upsample.cpp: interpolation by size and by scale, and grid sampling, with their gradients."""

import ctypes

import pytest
import torch
import torch.nn.functional as F

from cases import DEVICE, FLOATS, LAYOUTS, randn, rows, table, uniform
from direct import refusal

LINE, PLANE, VOLUME = randn(2, 3, 5), randn(2, 3, 4, 5), randn(1, 2, 3, 4, 5)


# The adapters compute all in float32.
IN_FLOAT = {"dtypes": (torch.float32,), "layouts": LAYOUTS[:1]}


def resample(name, function, *inputs, **options):
    return rows(
        name, function, *inputs, **{"dtypes": FLOATS, "layouts": LAYOUTS, "close": True, "upcast": True, "backward": True} | options
    )


def interpolate(mode, x, size, scale, **arguments):
    return [
        *resample(f"{mode}-size", lambda x: F.interpolate(x, size, mode=mode, **arguments), x, dtypes=FLOATS[:2]),
        *resample(f"{mode}-scale", lambda x: F.interpolate(x, scale_factor=scale, mode=mode, **arguments), x, **IN_FLOAT),
    ]


def aligned(mode, x, size):
    return resample(f"{mode}-aligned", lambda x: F.interpolate(x, size, mode=mode, align_corners=True), x, dtypes=FLOATS[::2])


IMAGE, GRID = randn(2, 3, 5, 6), uniform(2, 4, 3, 2, low=-1.2, high=1.2)
CUBE, CUBE_GRID = randn(1, 2, 3, 4, 5), uniform(1, 2, 3, 4, 3, low=-1.2, high=1.2)

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
    *resample(
        "affine_grid-3d", lambda t: F.affine_grid(t, (2, 3, 4, 5, 6), align_corners=False), randn(2, 3, 4), **IN_FLOAT, backward=False
    ),
    *(
        row
        for mode in ("bilinear", "nearest")
        for padding in ("zeros", "border", "reflection")
        for row in resample(
            f"grid_sample-{mode}-{padding}",
            lambda x, g, mode=mode, padding=padding: F.grid_sample(x, g, mode, padding, align_corners=False),
            IMAGE,
            GRID,
            **IN_FLOAT,
        )
    ),
    *resample("grid_sample-half", lambda x, g: F.grid_sample(x, g, align_corners=True), IMAGE, GRID, dtypes=FLOATS[1:], backward=False),
    *resample("grid_sample-3d", lambda x, g: F.grid_sample(x, g, align_corners=True), CUBE, CUBE_GRID, **IN_FLOAT),
]


@pytest.mark.filterwarnings("ignore")
@table(CASES)
def test_upsample(case):
    case.check()


@pytest.mark.parametrize("padding", ["border", "reflection"])
def test_places_that_are_no_numbers_are_the_first_pixel(padding):
    """ATen's gradient writes outside of the image there."""
    image = torch.ones(1, 1, 3, 4, device=DEVICE, requires_grad=True)
    grid = torch.full((1, 2, 5, 2), torch.nan, device=DEVICE)
    F.grid_sample(image, grid, padding_mode=padding, align_corners=True).sum().backward()
    expected = torch.zeros(3, 4)
    expected[0, 0] = 10
    assert torch.equal(image.grad.cpu()[0, 0], expected)


@pytest.mark.parametrize(("entry_point", "number"), [("Nearest2dV2", ctypes.c_float), ("Bilinear2d", float), ("Bicubic2d", float)])
def test_a_factor_that_leads_out_of_memory_is_refused(entry_point, number):
    x, out = torch.zeros(1, 1, 5, 5).to(DEVICE), torch.zeros(1, 1, 1, 127).to(DEVICE)
    aligned = () if "Nearest" in entry_point else (False,)
    code, message = refusal(f"aclnnUpsample{entry_point}", x, [1, 127], *aligned, number(0.5), number(1e-12), out)
    assert code == 161002 and "scalesW: expected a factor of at least" in message, message
