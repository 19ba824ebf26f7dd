"""Comparing what calls give with what it is by definitions in float64."""

import pytest
import torch

from direct import call

DEVICE = "npu"
HALVES = (torch.float16, torch.bfloat16)
FLOATS = (torch.float32, *HALVES)
WHOLE = (torch.int32, torch.int64)
TOLERANCE = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


def there(*tensors):
    """Tensors on the device, without gaps; null is one that is not given."""
    return [None if tensor is None else tensor.contiguous().to(DEVICE) for tensor in tensors]


def on_npu(function, *arguments, **options):
    """What a function gives for tensors that are moved to the device, those of lists too."""

    def moved(value):
        return [moved(one) for one in value] if isinstance(value, list) else value.to(DEVICE) if isinstance(value, torch.Tensor) else value

    return function(*map(moved, arguments), **{name: moved(value) for name, value in options.items()})


def zeros(*sizes, dtype=torch.float32):
    return torch.zeros(sizes, dtype=dtype).to(DEVICE)


def drawn(*sizes, seed=5):
    """Normal numbers in float64, the same for the same sizes."""
    return torch.randn(sizes, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def close(got, expected, tolerance=None, atol=None):
    """Compare results, one or several, with what they are in float64; errors are relative to the largest number, their type's or given."""
    if not isinstance(got, torch.Tensor):
        for one, exact in zip(got, expected, strict=True):
            close(one, exact, tolerance, atol)
        return
    rtol, expected = tolerance or TOLERANCE.get(got.dtype, 0), expected.detach().double()
    if atol is None:
        atol = rtol * expected.abs().nan_to_num(0, 0).max().item() if expected.numel() else 0
    torch.testing.assert_close(got.detach().cpu().double(), expected, rtol=rtol, atol=atol)


def check(entry_point, arguments, *expected, dtype=None):
    """Compare the outputs behind the arguments with numbers in float64, in the first tensor's data type or another; integers are equal."""
    tensors = [a for argument in arguments for a in (argument if isinstance(argument, tuple) else (argument,))]
    dtype = dtype or next(one.dtype for one in tensors if isinstance(one, torch.Tensor))
    outs = [torch.empty(one.shape, dtype=dtype if one.is_floating_point() else one.dtype, device=DEVICE) for one in expected]
    call(entry_point, *arguments, *outs)
    close(outs, expected)


def compare(called, inputs, arguments, definition, dtypes, differentiated=False):
    """Compare the outputs with the definition, of which both get the inputs (float64) rounded to each of the data types.

    What is called is an entry point; or a function of tensors on the device, whose first result may be differentiated by the inputs, too.
    The arguments are those behind the inputs, or what makes all of them of the inputs;
    `...` stands for outputs that are not the last ones. What the definition has in float32, int32 or int64 is of that type.
    """
    for dtype in dtypes:
        rounded = [one.to(dtype) for one in inputs]
        exact = [one.to(torch.float64, copy=True).requires_grad_(differentiated) for one in rounded]
        results = definition(*exact)
        results = results if isinstance(results, tuple) else (results,)
        there = [one.to(DEVICE).requires_grad_(differentiated) for one in rounded]
        given = arguments(*there) if callable(arguments) else (*there, *arguments)
        if callable(called):
            got = on_npu(called, *given)
            got = got if isinstance(got, (tuple, list)) else (got,)
            close(got[: len(results)], results)
            if differentiated:
                cotangent = drawn(*results[0].shape, seed=9).to(dtype)
                close(torch.autograd.grad(got[0], there, cotangent.to(DEVICE)), torch.autograd.grad(results[0], exact, cotangent.double()))
            continue
        expected = [one.detach() if one.dtype in (torch.float32, torch.int32, torch.int64) else one.detach().to(dtype) for one in results]
        outs = [torch.empty(one.shape, dtype=one.dtype, device=DEVICE) for one in expected]
        place = next((i for i, one in enumerate(given) if one is ...), len(given))
        call(called, *given[:place], *outs, *given[place + 1 :])
        for out, one in zip(outs, expected, strict=True):
            torch.testing.assert_close(out.cpu(), one, msg=lambda text, dtype=dtype: f"{dtype}: {text}")


def definitions(rows):
    """Return a test of such comparisons, for each entry point or function."""
    named = {}
    for row in rows:
        named.setdefault(getattr(row[0], "__name__", row[0]), []).append(row)

    @pytest.mark.parametrize("name", named)
    def test(name):
        for row in named[name]:
            compare(*row)

    return test
