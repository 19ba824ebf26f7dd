"""Pooling of images and volumes, and padding of images, called by name, against their definitions in double precision."""

import pytest
import torch

from support.named_operators import Stored, refuses, run

TYPES = (torch.float32, torch.float16)


def drawn(*sizes, dtype=torch.float32):
    return (torch.rand(sizes, dtype=torch.float64) * 2 - 0.7).to(dtype)


def close(got, expected):
    torch.testing.assert_close(got, expected.detach().to(got.dtype), **({"rtol": 1e-5, "atol": 1e-6} if got.dtype == torch.float32 else {}))


def numbers(values):
    return Stored(torch.tensor(values, dtype=torch.int64), on_host=True)


def over_windows(x, sizes, windows, reduce):
    """Reduce, for each cell of the result, the part of its window that lies within the image; the whole one has as many elements."""

    def cell(top, bottom, left, right):
        return reduce(x[..., max(top, 0) : bottom, max(left, 0) : right], (bottom - top) * (right - left))

    rows, columns = (windows(d, sizes[d]) for d in (0, 1))
    return torch.stack([torch.stack([cell(*row, *column) for column in columns], -1) for row in rows], -2)


AVERAGES = [
    # kernel, stride, padding, ceil_mode, exclusive, divisor, sizes of the result
    ((2, 3), (2, 2), (0, 0), False, True, 0, (3, 3)),
    ((3, 3), (2, 2), (1, 1), False, True, 0, (4, 4)),
    ((3, 3), (2, 2), (1, 1), False, False, 0, (4, 4)),
    ((2, 2), (2, 2), (0, 0), True, False, 0, (4, 4)),
    ((3, 2), (1, 2), (1, 0), False, True, 5, (7, 4)),
]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("case", AVERAGES, ids=str)
def test_average(acl, case, dtype):
    kernel, stride, padding, ceil_mode, exclusive, divisor, sizes = case
    x, grad = drawn(2, 3, 7, 8, dtype=dtype), drawn(2, 3, *sizes, dtype=dtype)

    def windows(d, count):
        begins = [i * stride[d] - padding[d] for i in range(count)]
        return [(begin, min(begin + kernel[d], x.shape[2 + d] + padding[d])) for begin in begins]

    def average(part, whole):
        return part.sum((-1, -2)) / (divisor or (part.shape[-1] * part.shape[-2] if exclusive else whole))

    attributes = {
        "ksize": [1, 1, *kernel], "strides": [1, 1, *stride], "padding_mode": "CALCULATED", "global_pooling": False,
        "pads": [padding[0], padding[0], padding[1], padding[1]], "data_format": "NCHW", "ceil_mode": ceil_mode, "exclusive": exclusive,
    }  # fmt: skip
    exact = x.double().requires_grad_()
    expected = over_windows(exact, sizes, windows, average)
    close(run(acl, "AvgPoolV2", [x], [torch.empty_like(grad)], **attributes, divisor_override=divisor)[0], expected)
    if divisor == 0:
        expected.backward(grad.double())
        close(run(acl, "AvgPoolV2Grad", [numbers(x.shape), grad], [torch.empty_like(x)], **attributes)[0], exact.grad)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_average_of_volumes(acl, dtype):
    x, grad = drawn(2, 3, 4, 7, 8, dtype=dtype), drawn(2, 3, 3, 4, 4, dtype=dtype)
    exact = x.double().requires_grad_()
    torch.nn.functional.avg_pool3d(exact, (2, 3, 2), (1, 2, 2), (0, 1, 0), count_include_pad=False).backward(grad.double())
    expected = torch.nn.functional.avg_pool3d(exact, (2, 3, 2), (1, 2, 2), (0, 1, 0), count_include_pad=False)
    attributes = {"ksize": [2, 3, 2], "strides": [1, 2, 2], "pads": [0, 0, 1, 1, 0, 0], "count_include_pad": False, "data_format": "NCDHW"}
    close(run(acl, "AvgPool3D", [x], [torch.empty_like(grad)], **attributes)[0], expected)
    attributes |= {"ksize": [1, 1, 2, 3, 2], "strides": [1, 1, 1, 2, 2]}
    close(run(acl, "AvgPool3DGrad", [numbers(x.shape), grad], [torch.empty_like(x)], **attributes)[0], exact.grad)


@pytest.mark.parametrize(
    ("words", "changes"),
    [
        ("attribute pads: expected as much at the end as at the beginning", {"pads": [0, 1, 0, 0, 0, 0]}),
        ("ksize: expected 3 values", {"ksize": [1, 1, 2, 2, 2]}),
        ("strides: expected 3 values", {"strides": [2]}),
        ("attribute data_format: expected NCDHW, got NDHWC", {"data_format": "NDHWC"}),
    ],
)
def test_average_of_volumes_that_is_refused(acl, words, changes):
    attributes = {"ksize": [2, 2, 2], "strides": [2, 2, 2], "pads": [0] * 6, "data_format": "NCDHW"} | changes
    refuses(acl, words, "AvgPool3D", [drawn(1, 1, 4, 4, 4)], [torch.empty(1, 1, 2, 2, 2)], **attributes)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_adaptive_average(acl, dtype):
    x, grad = drawn(2, 3, 7, 8, dtype=dtype), drawn(2, 3, 3, 5, dtype=dtype)
    exact = x.double().requires_grad_()

    def windows(d, count):
        size = x.shape[2 + d]
        return [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]

    expected = over_windows(exact, (3, 5), windows, lambda part, *_: part.mean((-1, -2)))
    close(run(acl, "AdaptiveAvgPool2d", [x], [torch.empty_like(grad)], output_size=[3, 5])[0], expected)
    expected.backward(grad.double())
    close(run(acl, "AdaptiveAvgPool2dGrad", [grad], [torch.empty_like(x)], orig_input_shape=list(x.shape))[0], exact.grad)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_largest(acl, dtype):
    x = torch.randperm(2 * 3 * 7 * 8).reshape(2, 3, 7, 8).to(dtype)
    grad, argmax = drawn(2, 3, 4, 4, dtype=dtype), torch.ones(2, 3, 9, 2, dtype=torch.uint16)
    exact = x.double().requires_grad_()

    def windows(d, count):
        return [(2 * i - 1, 2 * i + 2) for i in range(count)]

    expected = over_windows(exact, (4, 4), windows, lambda part, *_: part.amax((-1, -2)))
    attributes = {"ksize": [1, 3, 3, 1], "strides": [1, 2, 2, 1], "pads": [1, 1, 1, 1], "ceil_mode": False}
    outputs = [torch.empty_like(grad), argmax]
    got, argmax = run(acl, "MaxPoolWithArgmaxV1", [x], outputs, **attributes, dilation=[1, 1, 1, 1])
    close(got, expected)
    expected.backward(grad.double())
    inputs = [x, grad, argmax]
    close(run(acl, "MaxPoolGradWithArgmaxV1", inputs, [torch.empty_like(x)], **attributes, dilations=[1, 1, 1, 1])[0], exact.grad)


VOLUMES = [
    # kernel, stride, padding at the beginnings and the ends, dilation, sizes of the result for a volume of 5 x 6 x 7
    ((2, 3, 2), (2, 3, 2), (0, 0, 0), (0, 0, 0), 1, (2, 2, 3)),
    ((3, 3, 3), (2, 2, 2), (1, 1, 1), (1, 2, 1), 1, (3, 4, 4)),
    ((2, 2, 2), (1, 2, 3), (0, 0, 1), (0, 0, 1), 2, (3, 2, 3)),
]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("case", VOLUMES, ids=str)
def test_largest_of_volumes(acl, case, dtype):
    kernel, stride, begins, ends, dilation, sizes = case
    x = torch.randperm(2 * 3 * 5 * 6 * 7).reshape(2, 3, 5, 6, 7).to(dtype)
    grad, exact = drawn(2, 3, *sizes, dtype=dtype), x.double().requires_grad_()

    def window(cell):
        places = [[i * s - b + dilation * j for j in range(k)] for i, k, s, b in zip(cell, kernel, stride, begins, strict=True)]
        depth, rows, columns = ([i for i in of if 0 <= i < size] for of, size in zip(places, x.shape[2:], strict=True))
        return exact[:, :, depth][:, :, :, rows][..., columns].amax((-1, -2, -3))

    expected = torch.stack([window(cell) for cell in torch.cartesian_prod(*map(torch.arange, sizes)).tolist()], -1).view(grad.shape)
    attributes = {
        "ksize": [1, 1, *kernel], "strides": [1, 1, *stride], "padding": "CALCULATED",
        "pads": [n for pair in zip(begins, ends, strict=True) for n in pair], "data_format": "NCDHW",
    }  # fmt: skip
    (got,) = run(acl, "MaxPool3D", [x], [torch.empty_like(grad)], **attributes, dilation=[1, 1, *[dilation] * 3], ceil_mode=1)
    close(got, expected)
    (got_alone,) = run(acl, "MaxPool3D", [x[0]], [torch.empty_like(grad[:1])], **attributes, dilation=[1, 1, *[dilation] * 3], ceil_mode=1)
    assert torch.equal(got_alone, got[:1])
    if dilation == 1:
        expected.backward(grad.double())
        close(run(acl, "MaxPool3DGrad", [x, got, grad], [torch.empty_like(x)], **attributes)[0], exact.grad)


@pytest.mark.parametrize(
    ("words", "changes"),
    [
        ("attribute padding: expected CALCULATED, got SAME", {"padding": "SAME"}),
        ("attribute data_format: expected NCDHW, got NDHWC", {"data_format": "NDHWC"}),
        ("ksize: expected 5 values", {"ksize": [2, 2, 2]}),
        ("attribute pads: expected 2 at the end of dimension 4", {"pads": [0, 0, 0, 0, 0, 1]}),
        ("pads: expected values of at least 0", {"pads": [0, 0, -1, 0, 0, 2]}),
    ],
)
def test_largest_of_volumes_that_is_refused(acl, words, changes):
    attributes = {"ksize": [1, 1, 2, 2, 2], "strides": [1, 1, 2, 2, 2], "padding": "CALCULATED", "pads": [0, 0, 0, 0, 0, 2]}
    refuses(acl, words, "MaxPool3D", [drawn(1, 1, 4, 4, 4)], [torch.empty(1, 1, 2, 2, 3)], **attributes | changes)


def mirrored(i, size):
    return -i if i < 0 else 2 * (size - 1) - i if i >= size else i


PLACES = {"edge": lambda i, size: min(max(i, 0), size - 1), "reflect": mirrored}


@pytest.mark.parametrize("mode", PLACES)
def test_padding(acl, mode):
    x, amounts = drawn(2, 3, 4, 5), [0, 0, 0, 0, 2, 1, 0, 3]
    exact = x.double().requires_grad_()
    rows, columns = ([PLACES[mode](i, size) for i in range(-a, size + b)] for size, a, b in ((4, 2, 1), (5, 0, 3)))
    expected = exact[..., rows, :][..., columns]
    pads, outputs = numbers(amounts), [torch.empty(expected.shape)]
    close(run(acl, "PadV3", [x, pads, numbers([0])], outputs, mode=mode, paddings_contiguous=True)[0], expected)
    if mode == "reflect":
        close(run(acl, "MirrorPad", [x, pads], outputs, mode="REFLECT")[0], expected)
    grad = drawn(*expected.shape)
    expected.backward(grad.double())
    close(run(acl, "PadV3Grad", [grad, pads], [torch.empty_like(x)], mode=mode, paddings_contiguous=True)[0], exact.grad)


def test_padding_with_a_number(acl):
    x = drawn(2, 3)
    expected = torch.full((3, 6), 7.0)
    expected[1:, 2:5] = x
    (got,) = run(
        acl, "PadV3", [x, numbers([1, 0, 2, 1]), torch.tensor([7.0])], [torch.empty(3, 6)], mode="constant", paddings_contiguous=True
    )
    assert torch.equal(got, expected)


@pytest.mark.parametrize(
    ("words", "name", "attributes"),
    [
        ("attribute mode: expected constant, edge or reflect, got wrap", "PadV3", {"mode": "wrap"}),
        ("attribute mode: expected edge or reflect, got wrap", "PadV3Grad", {"mode": "wrap"}),
        ("attribute mode: expected REFLECT, got SYMMETRIC", "MirrorPad", {"mode": "SYMMETRIC"}),
        ("attribute paddings_contiguous: expected true, got false", "PadV3", {"mode": "edge", "paddings_contiguous": False}),
        ("input 1: expected no padding of the first two dimensions", "PadV3", {"mode": "edge"}),
    ],
)
def test_padding_that_is_refused(acl, words, name, attributes):
    images_only = "two dimensions" not in words
    amounts = numbers([0 if images_only else 1, *[0] * 7])
    refuses(acl, words, name, [drawn(2, 3, 4, 5), amounts, numbers([0])], [torch.empty(2, 3, 4, 5)], **attributes)


@pytest.mark.parametrize(
    ("words", "changes"),
    [
        ("attribute padding_mode: expected CALCULATED, got SAME", {"padding_mode": "SAME"}),
        ("attribute global_pooling: expected false, got true", {"global_pooling": True}),
        ("attribute pads: expected as much at the end", {"pads": [0, 1, 0, 0]}),
        ("ksize: expected 4 values", {"ksize": [2, 2]}),
    ],
)
def test_average_that_is_refused(acl, words, changes):
    attributes = {"ksize": [1, 1, 2, 2], "strides": [1, 1, 2, 2], "pads": [0, 0, 0, 0]} | changes
    refuses(acl, words, "AvgPoolV2", [drawn(2, 3, 4, 4)], [torch.empty(2, 3, 2, 2)], **attributes)
