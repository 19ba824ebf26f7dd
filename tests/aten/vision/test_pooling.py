"""pooling.cpp: pooling and unpooling with their gradients, and the mask between max pooling and its backward."""

import pytest
import torch
import torch.nn.functional as F
from checks import DEVICE, FLOATS, HALVES, definitions, drawn

from cases import LAYOUTS, randn, rows, rows_with, table, values

PLANES, VOLUMES = randn(2, 3, 7, 8), randn(2, 2, 5, 6, 7)
pool = rows_with(dtypes=FLOATS, layouts=LAYOUTS, close=True, upcast=True, backward=True)


def there_and_back(pooling, unpooling, *arguments):
    """Unpooling needs real indices: they come from the CPU."""

    def function(x):
        values, indices = pooling(x.detach().cpu().float(), *arguments, return_indices=True)
        return unpooling(x.flatten()[: values.numel()].reshape(values.shape), indices.to(x.device), *arguments)

    return function


def numbered(pooling, *arguments):
    """Return the maxima and their positions, which may have any integer type."""
    return lambda x: [one if one.is_floating_point() else one.long() for one in pooling(x, *arguments, return_indices=True)]


CASES = [
    *pool("avg_pool2d", lambda x: F.avg_pool2d(x, (2, 3), (2, 1), (1, 0)), PLANES),
    *pool("avg_pool2d-options", lambda x: F.avg_pool2d(x, 3, 2, 1, True, False), PLANES),
    *pool("avg_pool2d-divisor", lambda x: F.avg_pool2d(x, 2, divisor_override=3), PLANES),
    *pool("avg_pool2d-unbatched", lambda x: F.avg_pool2d(x, 2), randn(3, 6, 8)),
    *pool("avg_pool3d", lambda x: F.avg_pool3d(x, (2, 3, 2), 2, (1, 1, 0)), VOLUMES, dtypes=(torch.float32,)),
    *pool("avg_pool3d-options", lambda x: F.avg_pool3d(x, 2, None, 1, True, False, 5), VOLUMES, dtypes=(torch.float32,)),
    *pool("adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, (3, 5)), PLANES),
    *pool("adaptive_avg_pool2d-1", lambda x: F.adaptive_avg_pool2d(x, 1), PLANES),
    *pool("adaptive_avg_pool3d", lambda x: F.adaptive_avg_pool3d(x, (3, 2, 4)), VOLUMES),
    *pool("adaptive_max_pool2d", lambda x: F.adaptive_max_pool2d(x, (3, 5), return_indices=True), PLANES, dtypes=(torch.float32,)),
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
    *pool("max_unpool3d", there_and_back(F.max_pool3d, F.max_unpool3d, 2), randn(2, 2, 4, 6, 6), backward=False, dtypes=FLOATS[:2]),
    *rows("max_pool3d-indices", numbered(F.max_pool3d, 2), VOLUMES),
    *rows("max_pool2d-nan", lambda x: F.max_pool2d(x, 2), values([[[0.0] * 4, [0.0, 0.0, float("nan"), 0.0]]]), backward=True),
    *[row for n in (1, 2, 5) for row in rows(f"max_pool2d-row-{n}", lambda x, n=n: F.max_pool2d(x, (1, n)), randn(2, 3, 1, 40))],
]
test_torchs_functions = table(CASES)


def max_pool(kernel, strides, pads, ceil):
    both = [(each * 2)[:2] for each in (kernel, strides or kernel, pads or [0])]
    return lambda x: F.max_pool2d(x, *both, ceil_mode=bool(ceil))


WINDOWS = [([2, 3], [], [], 0), ([2], [1], [1], 0), ([3, 2], [2, 1], [1, 0], 0), ([3], [2], [1, 1, 1, 1], 0), ([2], [2], [0, 0], 1)]
PLANE, VOLUME = drawn(2, 3, 7, 8), drawn(2, 3, 5, 6, 7)
test_definitions = definitions(
    [
        *[("aclnnMaxPool", [PLANE], (*how[:2], 0, how[2], [1], how[3]), max_pool(*how), FLOATS[:2]) for how in WINDOWS],
        # ATen has no such kernel on the CPU.
        (lambda x: F.avg_pool3d(x, 2), [VOLUME], (), lambda x: F.avg_pool3d(x, 2), HALVES, True),
    ]
)


@pytest.mark.parametrize("position", [9, -1, 6])  # positions after the window, before it, and in the padding
def test_max_pool_refuses_a_mask_that_it_did_not_write(capfd, position):
    x, options = torch.randn(2, 3, 4, 4).to(DEVICE), ([3, 3], [2, 2], [1, 1], [1, 1], False)
    maxima, mask = torch.ops.aten.max_pool2d_with_indices(x, *options)
    bad = torch.full((mask.numel() // 2,), position, dtype=torch.int16).view(mask.dtype).view(mask.shape)
    with pytest.raises(RuntimeError, match="161002"):
        torch.ops.aten.max_pool2d_with_indices_backward(maxima, x, *options, bad.to(DEVICE)).cpu()
    said = capfd.readouterr().err
    assert "aclnnMaxPool2dWithMaskBackward: indices: expected a mask that aclnnMaxPool2dWithMask wrote" in said
    assert f"windows of 9 elements, got position {position} " in said


@pytest.mark.parametrize("dims", [2, 3])
def test_integers_are_unpooled(dims):
    """ATen has no such kernel on cpu."""
    values, index = (torch.tensor(numbers).view(1, 1, 2, *[1] * (dims - 1)).to(DEVICE) for numbers in ([1, 2], [1, 3]))
    kernel = (2, *[1] * (dims - 1))
    unpooled = getattr(F, f"max_unpool{dims}d")(values, index, kernel)
    assert unpooled.dtype == torch.int64 and unpooled.shape[2:] == (4, *kernel[1:]) and unpooled.flatten().tolist() == [0, 1, 0, 2]
