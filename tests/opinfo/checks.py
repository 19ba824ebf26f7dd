"""The kinds of check, each of one sample on npu. The reference is torch's own function or module in float64 on cpu."""

import re
import sys
import warnings
from collections.abc import Callable
from unittest.mock import patch

import torch
from torch import Tensor
from torch.testing._internal.common_utils import noncontiguous_like

from opinfo.entries import Case
from opinfo.samples import BadSample, Sample
from support.comparison import assert_rounded_once

Layout = Callable[[Tensor], Tensor]

# A linear map has no truncation error, so a step of 1 makes float32 exact enough.
STEP_IN_FLOAT32 = {"eps": 1.0, "atol": 1e-4, "rtol": 1e-4}
# For a function that is not linear the step is a compromise between truncation and rounding.
CURVED_STEP_IN_FLOAT32 = {"eps": 1e-2, "atol": 1e-2, "rtol": 1e-2}


def forward(case: Case, sample: Sample, layout: Layout = Tensor.detach) -> None:
    """The result, and what is updated in place, are the reference rounded once."""
    tensors, exact = _on_npu(sample, layout), _exact(sample)
    with torch.no_grad():
        output, expected = sample.call(case.implemented_by, tensors), sample.call(case.reference, exact)
    torch.npu.synchronize()  # reports what failed while computing, with the entry point's own message
    assert output.dtype == case.dtype
    for ours, theirs in zip((output, *tensors), (expected, *exact), strict=True):
        _assert_equal(case, ours, theirs)


def backward(case: Case, sample: Sample, layout: Layout = Tensor.detach) -> None:
    """The gradients are the reference's rounded once."""
    tensors, exact = _on_npu(sample, layout), _exact(sample)
    output, expected = sample.call(case.implemented_by, tensors), sample.call(case.reference, exact)
    grad_output = torch.randn(output.shape, dtype=case.dtype)
    grads = torch.autograd.grad(output, _differentiable(tensors), layout(grad_output.to("npu")))
    expected_grads = torch.autograd.grad(expected, _differentiable(exact), _widened(grad_output))
    torch.npu.synchronize()
    for ours, theirs in zip(grads, expected_grads, strict=True):
        assert ours.dtype == case.dtype
        _assert_equal(case, ours, theirs)


def noncontiguous_forward(case: Case, sample: Sample) -> None:
    """Do what forward does, on tensors with gaps between their elements."""
    forward(case, sample, noncontiguous_like)


def noncontiguous_backward(case: Case, sample: Sample) -> None:
    """Do what backward does, on tensors with gaps between their elements, the output's gradient too."""
    backward(case, sample, noncontiguous_like)


def gradcheck(case: Case, sample: Sample) -> None:
    """The gradient is what finite differences say; in fast mode, as in PyTorch's own tests."""
    _compare_with_differences(torch.autograd.gradcheck, case, sample)


def gradgradcheck(case: Case, sample: Sample) -> None:
    """The gradient of the gradient is what finite differences say."""
    _compare_with_differences(torch.autograd.gradgradcheck, case, sample)


def errors(case: Case, bad: BadSample) -> None:
    """A bad sample is refused at the call: by torch with its own words, by ours with those or as all our functions refuse."""
    refusals, words = (bad.error,), bad.words
    if case.implementation == "ours":
        refusals, words = (bad.error, TypeError, ValueError), rf"{bad.words}|^\w+: \w+: expected .*, got "
    tensors = _on_npu(bad, Tensor.detach)
    try:
        bad.call(case.implemented_by, tensors)
    except refusals as refusal:
        assert re.search(words, str(refusal)), f"expected {words!r}, got {refusal}"
    else:
        raise AssertionError(f"expected {bad.error.__name__}: {words!r}")


def _on_npu(sample: Sample, layout: Layout) -> list[Tensor]:
    return [layout(t.detach().to("npu")).requires_grad_(t.requires_grad) for t in sample.tensors]


def _exact(sample: Sample) -> list[Tensor]:
    return [_widened(t.detach().clone()).requires_grad_(t.requires_grad) for t in sample.tensors]


def _widened(tensor: Tensor) -> Tensor:
    return tensor.to(torch.complex128) if tensor.is_complex() else tensor.double() if tensor.is_floating_point() else tensor


def _differentiable(tensors: list[Tensor]) -> list[Tensor]:
    return [t for t in tensors if t.requires_grad]


def _differentiable_function(case: Case, sample: Sample) -> tuple[Callable[..., Tensor], list[Tensor]]:
    """Return the call as a function of the tensors that have a gradient. Running statistics start anew at each call."""
    tensors = _on_npu(sample, Tensor.detach)

    def function(*inputs: Tensor) -> Tensor:
        given = iter(inputs)
        return sample.call(case.implemented_by, [next(given) if t.requires_grad else t.clone() for t in tensors])

    return function, _differentiable(tensors)


def _compare_with_differences(check: Callable[..., bool], case: Case, sample: Sample) -> None:
    step = {}
    if case.dtype == torch.float32:
        step = STEP_IN_FLOAT32 if case.entry.is_linear else CURVED_STEP_IN_FLOAT32
    # Where the check fails, as it shall for what is excluded, its message would have both Jacobians, which take seconds to compute.
    no_jacobians = patch.object(sys.modules["torch.autograd.gradcheck"], "_run_slow_mode_and_get_error", return_value="")
    with warnings.catch_warnings(), no_jacobians:
        warnings.filterwarnings("ignore", "Input #. requires gradient and is not a double")  # the step takes that into account
        assert check(*_differentiable_function(case, sample), fast_mode=True, **step)


def _assert_equal(case: Case, actual: Tensor, exact: Tensor) -> None:
    """A linear map's result is the reference rounded once; elsewhere terms cancel, so the tolerance is the one of PyTorch's own tests."""
    actual = actual.detach().cpu()
    if not case.entry.is_linear:
        torch.testing.assert_close(actual, exact.to(actual.dtype))
    elif actual.is_complex():
        assert_rounded_once(torch.view_as_real(actual), torch.view_as_real(exact))
    else:
        assert_rounded_once(actual, exact)
