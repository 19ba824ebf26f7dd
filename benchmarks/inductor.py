"""The peer that a compiler writes: torch.compile of the same ATen operator."""

from collections.abc import Callable
from typing import Any

import torch
import torch._dynamo.config
import torch._functorch.config
import torch._inductor.config
from torch._dynamo.utils import counters
from torch._inductor.cpp_builder import get_cpp_compiler
from torch._inductor.exc import InvalidCxxCompiler

from benchmarks.case import Work

# For these operators all modes generate the same code, checked with torch 2.13. This mode includes what the others do.
MODE = "max-autotune-no-cudagraphs"


def problem() -> str | None:
    """Return why nothing can be compiled here, or None if something can."""
    try:
        get_cpp_compiler()
    except InvalidCxxCompiler:
        return "no C++ compiler was found (install g++, or name one in CXX)"
    return None


def prepare() -> None:
    """Set inductor up: it compiles in this process, as workers would disturb the timing, and a fallback to eager is an error.

    Cached graphs of other processes are not used: torch 2.13 does not record the instruction set that they were generated for, and one of
    AVX2, compiled for AVX-512, writes behind the end of its results.
    """
    torch._inductor.config.compile_threads = 1
    torch._inductor.config.fx_graph_cache = False
    torch._functorch.config.enable_autograd_cache = False
    torch._dynamo.config.error_on_recompile = True
    torch._dynamo.config.suppress_errors = False


def compile_case(work: Work) -> tuple[Callable[[], Any], bool]:
    """Return a call, and whether it comes down to ATen's own kernel.

    A loop that inductor generates writes into `out`, like its peers. Where inductor has no loop and calls ATen's functional
    operator, a copy of the result would count as its time, so the result is returned instead.
    """

    def into(out: torch.Tensor, *inputs: torch.Tensor) -> None:
        out.copy_(work.formula(*inputs))

    call = _compile(into, work.out, *work.inputs)
    if not counters["inductor"]["extern_calls"]:
        return call, False
    return _compile(work.formula, *work.inputs), True


def _compile(function: Callable[..., Any], *arguments: torch.Tensor) -> Callable[[], Any]:
    torch._dynamo.reset()
    counters.clear()
    # dynamic=False and fullgraph=True are not given, as they cost microseconds at each call. After a reset shapes are static anyway.
    compiled = torch.compile(function, mode=MODE)
    compiled(*arguments)
    graphs, breaks = counters["stats"]["unique_graphs"], sum(counters["graph_break"].values())
    if graphs != 1 or breaks:
        raise RuntimeError(f"expected one whole graph, got {graphs} with {breaks} breaks")
    return lambda: compiled(*arguments)
