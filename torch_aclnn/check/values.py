"""Whether an operator's results are right, and the same each time."""

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch_aclnn._operators import BY_NAME
from torch_aclnn.check import error, listed, machine
from torch_aclnn.check.families import SPECIFICATIONS
from torch_aclnn.check.judgement import ALLOWED, Deviation
from torch_aclnn.check.layouts import LAYOUTS
from torch_aclnn.check.records import FAILED, NOT_OFFERED, PASSED, Check
from torch_aclnn.check.samples import Sample

REPEATS = 10

# ACLNN_ERR_PARAM_INVALID, with which an entry point answers to a dtype that it does not take.
_INVALID = "161002"


def check_values(name: str, dtype: torch.dtype, layout: str, mode: int) -> Check:
    """Compare the operator with its definition, for each small sample."""
    found: dict[str, Any] = {"mode": mode, "dtype": name_of(dtype), "layout": layout, "listed": is_listed(name, dtype)}
    try:
        results = [(_call(name, sample, layout), *sample.expected()) for sample in SPECIFICATIONS[name].samples(dtype)]
    except RuntimeError as problem:
        return refused("values", name, dtype, problem, found)
    wrong_shapes = [f"{tuple(a.shape)} instead of {tuple(e.shape)}" for a, e, _ in results if a.shape != e.shape]
    if wrong_shapes:
        return Check("values", name, FAILED, **found, message=f"a result has shape {wrong_shapes[0]}")
    if SPECIFICATIONS[name].only_moves_elements:
        changed = sum(int((_bits(actual) != _bits(exact)).sum()) for actual, exact, _ in results)
        message = f"{changed} bytes of elements that only move have changed" if changed else None
        return Check(
            "values", name, FAILED if changed else PASSED, **found, error_ulp=None if changed else 0.0, limit_ulp=0.0, message=message
        )
    unit = torch.float16 if may_use_float16(name, dtype) else error.real_dtype(dtype)  # what the operator computes in
    ulp, limit = max(error.in_ulp(*result, unit) for result in results), error.LIMITS[unit]
    theirs = None if ulp <= limit else _torchs_ulp(name, dtype, unit, mode)
    deviation = Deviation(ulp, limit, max(error.share(*result) for result in results), ALLOWED.get(unit, 0.0), theirs)
    found |= {"error_ulp": finite(ulp), "limit_ulp": limit, "torchs_ulp": None if theirs is None else finite(theirs)}
    return Check("values", name, deviation.status, **found, message=deviation.message)


def _torchs_ulp(name: str, dtype: torch.dtype, unit: torch.dtype, mode: int) -> float | None:
    """Return the error of torch_npu's own operator for the same samples, or None if it has none, or none of this dtype."""
    operator = BY_NAME[name].aten_backward
    if operator is None or (mode == 2 and not is_listed(name, dtype)):  # in mode 2 a refusal would end the process
        return None
    call, specification = getattr(torch.ops.aten, operator).default, SPECIFICATIONS[name]
    try:
        samples = [(call(*specification.aten_arguments(s.to("npu"))).cpu(), *s.expected()) for s in specification.samples(dtype)]
    except RuntimeError:
        return None
    return max(error.in_ulp(*sample, unit) for sample in samples)


def check_determinism(name: str, dtype: torch.dtype, mode: int) -> Check:
    """Call the operator repeatedly on a larger sample and compare the bits, also with those that deterministic algorithms give.

    CANN promises the same bits only with deterministic algorithms, so only a difference with them is a failure.
    """
    specification = SPECIFICATIONS[name]
    sample = specification.sample(dtype, *specification.large)
    found: dict[str, Any] = {"mode": mode, "dtype": name_of(dtype), "layout": "contiguous", "listed": is_listed(name, dtype)}
    try:
        repeated = [_bits(_call(name, sample, "contiguous")) for _ in range(REPEATS)]
        with deterministic_algorithms():
            deterministic = [_bits(_call(name, sample, "contiguous")) for _ in range(REPEATS)]
    except RuntimeError as problem:
        return refused("determinism", name, dtype, problem, found)
    differing, differing_still = (sum(not torch.equal(calls[0], call) for call in calls[1:]) for calls in (repeated, deterministic))
    repeats = f"of {REPEATS - 1} repeats gave other bits than the first call"
    details = [f"without deterministic algorithms {differing} {repeats}"] if differing else []
    details += [] if torch.equal(repeated[0], deterministic[0]) else ["deterministic algorithms give other bits"]
    message = f"with deterministic algorithms {differing_still} {repeats}" if differing_still else None
    return Check("determinism", name, FAILED if message else PASSED, **found, detail=", ".join(details) or None, message=message)


@contextlib.contextmanager
def deterministic_algorithms() -> Iterator[None]:
    """Switch torch's deterministic algorithms on within the context."""
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])


def _call(name: str, sample: Sample, layout: str) -> Tensor:
    arranged = [LAYOUTS[layout](t) for t in sample.tensors[: sample.arranged]]
    others = [t.to("npu") for t in sample.tensors[sample.arranged :]]
    return _operator(name)(*arranged, *others, *sample.arguments).cpu()


def _operator(name: str) -> Callable[..., Tensor]:
    return getattr(torch.ops.torch_aclnn, BY_NAME[name].backward).default


def _bits(values: Tensor) -> Tensor:
    parts = torch.view_as_real(values) if values.is_complex() else values
    return parts.contiguous().view(torch.uint8)


def may_use_float16(name: str, dtype: torch.dtype) -> bool:
    """Return whether the operator may compute this dtype in float16: before A2 products that is so for FLOAT."""
    return SPECIFICATIONS[name].may_use_float16 and dtype == torch.float32 and machine.may_compute_float32_in_float16()


def refused(check: str, name: str, dtype: torch.dtype, problem: RuntimeError, found: dict[str, Any]) -> Check:
    """Return the check of a call that raised."""
    return Check(check, name, status_of_error(name, dtype, problem), **found, message=_explained(name, dtype, problem))


def status_of_error(name: str | None, dtype: torch.dtype | None, problem: Exception) -> str:
    """Return the status of a check that raised: only what no page lists for this product and version may be refused, with 161002.

    Args:
        name: the operator, or None for what concerns none.
        dtype: of the gradient; None means float32.
        problem: what it raised.

    """
    may_be_refused = name is not None and not is_listed(name, dtype or torch.float32)
    return NOT_OFFERED if may_be_refused and _INVALID in str(problem) else FAILED


def _explained(name: str, dtype: torch.dtype, problem: RuntimeError) -> str:
    if status_of_error(name, dtype, problem) == NOT_OFFERED or _INVALID not in str(problem):
        return str(problem)
    first = listed.since(name, name_of(dtype), machine.generation())
    return f"refused, although the pages from CANN {first} on list {name_of(dtype)} for this product: {problem}"


def is_listed(name: str, dtype: torch.dtype) -> bool:
    """Return whether the pages of this CANN version list the dtype for this product."""
    return listed.is_listed(name, name_of(dtype), machine.generation(), machine.cann_version())


def finite(ulp: float) -> float | None:
    """Return the error, or None in place of infinity, which JSON does not have."""
    return ulp if math.isfinite(ulp) else None


def name_of(dtype: torch.dtype) -> str:
    """Return the name without the package."""
    return str(dtype).removeprefix("torch.")
