"""Refusing to time a wrong result."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from benchmarks.case import Work


class WrongResult(Exception):
    """The function to be timed does not compute the formula."""


def check_ours(work: Work) -> None:
    """Compare ours with the formula in float32, rounded once."""
    reference = reference_of(work)
    result = result_of(work, work.ours)
    _compare("ours", result, reference, _precision(result) * reference.abs())


def check_peer(work: Work, who: str, call: Callable[[], Any]) -> None:
    """Compare a peer with the formula. It may round half types at each step, so intermediate values limit its accuracy."""
    reference = reference_of(work)
    result = result_of(work, call)
    _compare(who, result, reference, 10 * _precision(result) * reference.abs().max())


def reference_of(work: Work) -> Tensor:
    """Evaluate the formula in float32; integers are not converted."""
    return work.formula(*(t.float() if t.is_floating_point() else t for t in work.inputs))


def result_of(work: Work, call: Callable[[], Any]) -> Tensor:
    """Return what the call writes into `out`, or its result if it does not write."""
    work.out.zero_()
    returned = call()
    return (returned if isinstance(returned, Tensor) else work.out).view(work.out.shape)


def _precision(result: Tensor) -> float:
    return torch.finfo(result.dtype).eps if result.is_floating_point() else 0


def _compare(who: str, result: Tensor, reference: Tensor, bound: Tensor) -> None:
    largest = reference.abs().max().item()
    # Where terms cancel, float32's rounding error of the largest term remains.
    allowed = bound + 1e-5 * largest if result.is_floating_point() else bound
    error = (result.to(reference.dtype) - reference).abs()
    if not bool((error <= allowed).all()):
        raise WrongResult(f"{who} is off by up to {error.max().item():.3g} where values reach {largest:.3g}")
