"""Convolutions, called by name, against the sum that defines them."""

import itertools

import pytest
import torch

from support.named_operators import run

SIZES = torch.tensor([0], dtype=torch.int32)  # what stands for the shape, which the output has too


def padded(x, pads):
    sizes = [n + before + after for n, before, after in zip(x.shape[2:], pads[::2], pads[1::2], strict=True)]
    result = torch.zeros(*x.shape[:2], *sizes, dtype=torch.float64)
    result[(..., *(slice(before, before + n) for n, before in zip(x.shape[2:], pads[::2], strict=True)))] = x
    return result


def convolve(x, weight, strides, pads, dilations, groups):
    """Sum, for each place of the kernel, what lies under it."""
    x, spread = padded(x, pads), [d * (k - 1) + 1 for d, k in zip(dilations, weight.shape[2:], strict=True)]
    sizes = [(n - s) // step + 1 for n, s, step in zip(x.shape[2:], spread, strides, strict=True)]
    result = torch.zeros(x.shape[0], weight.shape[0], *sizes, dtype=torch.float64)
    per_group = weight.shape[0] // groups
    for place in itertools.product(*map(range, weight.shape[2:])):
        window = tuple(
            slice(d * p, d * p + step * (n - 1) + 1, step) for d, p, step, n in zip(dilations, place, strides, sizes, strict=True)
        )
        under = x[(..., *window)]
        for g in range(groups):
            inputs = under[:, g * weight.shape[1] : (g + 1) * weight.shape[1]]
            kernel = weight[(slice(g * per_group, (g + 1) * per_group), slice(None), *place)]
            result[:, g * per_group : (g + 1) * per_group] += torch.einsum("nc...,oc->no...", inputs, kernel)
    return result


CASES = [
    (2, (2, 4, 6, 7), (6, 2, 3, 2), [2, 1], [1, 1, 0, 2], [1, 2], 2),
    (2, (2, 3, 5, 5), (4, 3, 3, 3), [1, 1], [1, 1, 1, 1], [1, 1], 1),
    (3, (1, 2, 4, 5, 4), (3, 2, 2, 3, 2), [1, 2, 1], [1, 0, 1, 1, 0, 0], [1, 1, 2], 1),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_convolution_and_its_gradients(acl, case):
    directions, sizes, kernel, strides, pads, dilations, groups = case
    x, weight, bias = (torch.rand(shape, dtype=torch.float64).float() for shape in (sizes, kernel, kernel[:1]))
    attributes = {
        "strides": [1, 1, *strides], "pads": pads, "dilations": [1, 1, *dilations], "groups": groups,
        "data_format": "NCHW" if directions == 2 else "NCDHW",
    }  # fmt: skip
    leaves = [t.double().requires_grad_() for t in (x, weight)]
    exact = convolve(leaves[0], leaves[1], strides, pads, dilations, groups)
    (got,) = run(acl, f"Conv{directions}D", [x, weight], [torch.empty(exact.shape)], **attributes)
    torch.testing.assert_close(got.double(), exact.detach(), rtol=1e-5, atol=1e-5)
    (got,) = run(acl, f"Conv{directions}D", [x, weight, bias], [torch.empty(exact.shape)], **attributes)
    torch.testing.assert_close(got.double(), exact.detach() + bias.reshape(-1, *[1] * directions), rtol=1e-5, atol=1e-5)

    grad = torch.rand(exact.shape).float()
    of_x, of_weight = torch.autograd.grad(exact, leaves, grad.double())
    (got,) = run(acl, f"Conv{directions}DBackpropInput", [SIZES, weight, grad], [torch.empty(sizes)], **attributes)
    torch.testing.assert_close(got.double(), of_x, rtol=1e-5, atol=1e-5)
    (got,) = run(acl, f"Conv{directions}DTranspose", [SIZES, grad, weight], [torch.empty(sizes)], **attributes)
    torch.testing.assert_close(got.double(), of_x, rtol=1e-5, atol=1e-5)
    (got,) = run(acl, f"Conv{directions}DBackpropFilter", [x, SIZES, grad], [torch.empty(kernel)], **attributes)
    torch.testing.assert_close(got.double(), of_weight, rtol=1e-5, atol=1e-5)


def test_columns_of_an_image(acl):
    x = torch.arange(2 * 3 * 5 * 6, dtype=torch.float32).view(2, 3, 5, 6)
    padded = torch.zeros(2, 3, 7, 6)
    padded[:, :, 1:6] = x
    columns = [padded[:, :, i : i + 5 : 2, j : j + 5 : 4].reshape(2, 3, 6) for i in (0, 2) for j in (0, 1)]  # dilated by 2 and by 1
    attributes = {"ksizes": [2, 2], "strides": [2, 4], "dilations": [2, 1], "padding_mode": "CALCULATED", "pads": [1, 1, 0, 0]}
    (got,) = run(acl, "Im2col", [x], [torch.empty(2, 12, 6)], **attributes)
    assert torch.equal(got, torch.stack(columns, 2).reshape(2, 12, 6))
