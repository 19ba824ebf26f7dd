"""Whether an operator's results are right, and the same each time."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch_aclnn._operators import BY_NAME
from torch_aclnn.check import error, machine
from torch_aclnn.check.layouts import LAYOUTS
from torch_aclnn.check.operators import SPECIFICATIONS
from torch_aclnn.check.records import FAILED, NOT_OFFERED, PASSED, Check
from torch_aclnn.check.samples import Sample

REPEATS = 10

# ACLNN_ERR_PARAM_INVALID, with which an entry point answers to a dtype that it does not take.
_INVALID = "161002"


def check_values(name: str, dtype: torch.dtype, layout: str, mode: int) -> Check:
    """Compare the operator with its definition, for each small sample."""
    try:
        results = [(_call(name, sample, layout), *sample.expected()) for sample in SPECIFICATIONS[name].samples(dtype)]
    except RuntimeError as problem:
        return _not_computed("values", name, dtype, layout, mode, problem)
    found: dict[str, Any] = {"mode": mode, "dtype": _name(dtype), "layout": layout}
    wrong_shapes = [f"{tuple(a.shape)} instead of {tuple(e.shape)}" for a, e, _ in results if a.shape != e.shape]
    if wrong_shapes:
        return Check("values", name, FAILED, **found, message=f"a result has shape {wrong_shapes[0]}")
    if SPECIFICATIONS[name].only_moves_elements:
        changed = sum(int((_bits(actual) != _bits(exact)).sum()) for actual, exact, _ in results)
        message = f"{changed} bytes of elements that only move have changed" if changed else None
        return Check(
            "values", name, FAILED if changed else PASSED, **found, error_ulp=None if changed else 0.0, limit_ulp=0.0, message=message
        )
    unit = _unit(name, dtype)
    worst, limit = max(error.in_ulp(*result, unit) for result in results), error.LIMITS[unit]
    message = None if worst <= limit else f"wrong by {worst:.3g} ulp where {limit:g} are allowed"
    error_ulp = worst if math.isfinite(worst) else None  # JSON has no infinity
    return Check("values", name, FAILED if message else PASSED, **found, error_ulp=error_ulp, limit_ulp=limit, message=message)


def check_determinism(name: str, dtype: torch.dtype, mode: int) -> Check:
    """Call the operator repeatedly on a larger sample and compare the bits."""
    specification = SPECIFICATIONS[name]
    sample = specification.sample(dtype, *specification.large)
    try:
        first, *others = (_bits(_call(name, sample, "contiguous")) for _ in range(REPEATS))
    except RuntimeError as problem:
        return _not_computed("determinism", name, dtype, "contiguous", mode, problem)
    differing = sum(not torch.equal(first, other) for other in others)
    message = f"{differing} of {len(others)} repeats gave other bits than the first call" if differing else None
    return Check("determinism", name, FAILED if differing else PASSED, mode, _name(dtype), "contiguous", message=message)


def _call(name: str, sample: Sample, layout: str) -> Tensor:
    arranged = [LAYOUTS[layout](t) for t in sample.tensors[: sample.arranged]]
    others = [t.to("npu") for t in sample.tensors[sample.arranged :]]
    return _operator(name)(*arranged, *others, *sample.arguments).cpu()


def _operator(name: str) -> Callable[..., Tensor]:
    return getattr(torch.ops.torch_aclnn, BY_NAME[name].backward).default


def _bits(values: Tensor) -> Tensor:
    parts = torch.view_as_real(values) if values.is_complex() else values
    return parts.contiguous().view(torch.uint8)


def _unit(name: str, dtype: torch.dtype) -> torch.dtype:
    """Return the format that the operator computes in: before A2 products, FLOAT may be computed in FLOAT16."""
    if SPECIFICATIONS[name].may_use_float16 and dtype == torch.float32 and machine.generation() != "A2":
        return torch.float16
    return error.real_dtype(dtype)


def _not_computed(check: str, name: str, dtype: torch.dtype, layout: str, mode: int, problem: RuntimeError) -> Check:
    return Check(check, name, status_of_error(name, dtype, problem), mode, _name(dtype), layout, message=str(problem))


def status_of_error(name: str | None, dtype: torch.dtype | None, problem: Exception) -> str:
    """Return the status of a check that raised: not every product lists each operator, and not every version bfloat16."""
    is_listed = name is None or machine.generation() in SPECIFICATIONS[name].generations
    depends = dtype == torch.bfloat16 or not is_listed
    return NOT_OFFERED if depends and _INVALID in str(problem) else FAILED


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
