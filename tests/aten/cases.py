"""Tables of operators: the same call on the CPU and on the NPU must give the same values, dtypes and shapes.

    CASES = [
        *rows("add", lambda a, b: a + b, randn(3, 4), randn(4), dtypes=FLOATS, layouts=LAYOUTS),
        *rows("exp", torch.exp, randn(3, 4), close=True),
    ]

    test_pointwise = table(CASES)

An input is a recipe, not a tensor: it is made anew for every run, on the CPU, from a seed that depends on the case's
name only.
"""

import itertools
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from checks import DEVICE, HALVES
from torch.utils._pytree import tree_leaves

from support.marks import beyond_the_documents

LAYOUTS = ("strided", "dense")


@dataclass(frozen=True)
class Recipe:
    """An input tensor. Without a dtype of its own it takes the case's; `fixed` keeps it dense in the strided one."""

    shape: tuple
    make: Callable[[tuple, torch.dtype, torch.Generator], torch.Tensor]
    dtype: torch.dtype | None = None
    fixed: bool = False
    constant: bool = False  # asks for no gradient

    def build(self, case, generator):
        """A tensor on the CPU, and the function that makes the input of it on either device."""
        shape, take = self.shape, lambda base: base
        if case.layout == "strided" and shape and not self.fixed:
            shape, take = (*shape[:-1], 2 * shape[-1] + 1), lambda base: base[..., 1::2]
        return self.make(shape, self.dtype or case.dtype, generator), take


def randn(*shape, dtype=None):
    """Normal numbers; whole ones from -4 to 4 where the dtype is an integer."""

    def make(shape, dtype, generator):
        if dtype.is_floating_point or dtype.is_complex:
            exact = dtype if dtype.is_complex else torch.float64
            return torch.randn(shape, dtype=exact, generator=generator).to(dtype)
        return torch.randint(-4, 5, shape, generator=generator).to(dtype)

    return Recipe(shape, make, dtype)


def uniform(*shape, low=0.0, high=1.0, dtype=None):
    def make(shape, dtype, generator):
        return (torch.rand(shape, dtype=torch.float64, generator=generator) * (high - low) + low).to(dtype)

    return Recipe(shape, make, dtype)


def integers(*shape, low=0, high=10, dtype=torch.int64):
    """Whole numbers of [low, high)."""
    return Recipe(shape, lambda shape, dtype, generator: torch.randint(low, high, shape, generator=generator).to(dtype), dtype)


def booleans(*shape):
    return integers(*shape, high=2, dtype=torch.bool)


def permutation(*shape, dtype=torch.int64):
    """Distinct whole numbers from 0 on: no two are equal, so that orders and positions are unambiguous."""

    def make(shape, dtype, generator):
        return torch.randperm(torch.Size(shape).numel(), generator=generator).reshape(shape).to(dtype)

    return Recipe(shape, make, dtype)


def values(data, dtype=None):
    """Just these values, dense."""
    tensor = torch.tensor(data)
    return Recipe(tuple(tensor.shape), lambda shape, dtype, generator: torch.tensor(data, dtype=dtype), dtype or tensor.dtype, fixed=True)


def constant(recipe):
    """Return the case without a gradient."""
    return replace(recipe, constant=True)


@dataclass(frozen=True)
class Case:
    name: str
    function: Callable[..., Any]
    inputs: tuple
    dtype: torch.dtype = torch.float32
    layout: str = "dense"
    close: bool = False  # allow torch.testing's default tolerances, instead of none
    rtol: float | None = None
    atol: float | None = None
    upcast: bool = False  # half types: what float32 gives, rounded (ATen's CPU kernels partly sum in the half type)
    rounded_once: bool = False  # half types: what float64 gives, rounded (ATen's CPU kernels round numbers and products on the way)
    backward: bool = False  # compare the gradients of the floating inputs too
    beyond: bool = False  # torch_npu calls its entry point with what no document lists

    def __str__(self):
        dtype = str(self.dtype).removeprefix("torch.")
        return f"{self.name}-{dtype}" + ("" if self.layout == "dense" else f"-{self.layout}")

    def run(self, device, dtype=None):
        """Everything that the call determines: results, the inputs afterwards, gradients."""
        generator = torch.Generator().manual_seed(zlib.crc32(self.name.encode()))
        bases, inputs = [], []
        for recipe in self.inputs:
            base, take = recipe.build(self, generator)
            base = base.to(device, dtype if base.dtype == self.dtype else None)
            bases.append(base.requires_grad_(self.backward and base.is_floating_point() and not recipe.constant))
            inputs.append(take(base))
        results = tree_leaves(self.function(*inputs))
        if self.backward:
            differentiable = [result for result in results if result.requires_grad]
            cotangents = [
                torch.randn(r.shape, dtype=torch.float64, generator=generator).to(self.dtype).to(device, r.dtype) for r in differentiable
            ]
            leaves = [base for base in bases if base.requires_grad]
            results = results + list(torch.autograd.grad(differentiable, leaves, cotangents))
        return [tensor.detach() for tensor in (*results, *bases)]

    def check(self):
        expected, got = self.run("cpu"), self.run(DEVICE)
        if self.dtype in HALVES and (self.upcast or self.rounded_once):
            wide = self.run("cpu", torch.float32 if self.upcast else torch.float64)
            expected = [exact.to(native.dtype) for exact, native in zip(wide, expected, strict=True)]
        exact = not self.close and self.rtol is None and self.atol is None
        for i, (want, have) in enumerate(zip(expected, got, strict=True)):
            assert have.device.type == DEVICE
            rtol, atol = (0, 0) if exact else (self.rtol, self.atol)
            if self.upcast and want.dtype in HALVES and want.numel():  # operators round one after the other, and sums accumulate the errors
                rtol = 4 * torch.finfo(want.dtype).eps
                atol = rtol * want.nan_to_num().abs().max().item()
            torch.testing.assert_close(
                have.cpu(), want, rtol=rtol, atol=atol, equal_nan=True, msg=lambda text, i=i: f"{self}: result {i}: {text}"
            )


def rows(name, function, *inputs, dtypes=(torch.float32,), layouts=("dense",), **options):
    """Return cases with each dtype and each layout, which are not crossed: views are made before anything depends on a dtype."""
    pairs = [(dtypes[i % len(dtypes)], layouts[i % len(layouts)]) for i in range(max(len(dtypes), len(layouts)))]
    return [Case(name, function, inputs, dtype, layout, **options) for dtype, layout in pairs]


def rows_with(*, dtypes, **usual):
    """Return `rows` with other options, unless a call has its own: the first of the dtypes, and one of the others, in turn."""
    first, others = dtypes[0], itertools.cycle(dtypes[1:])
    return lambda name, function, *inputs, **options: rows(name, function, *inputs, **{"dtypes": (first, next(others))} | usual | options)


def written(arguments, text):
    """Functions as they are written: expressions of the arguments, with semicolons between them."""
    expressions = [" ".join(part.split()) for part in text.split(";")]
    return {expression: eval(f"lambda {arguments}: {expression}", {"torch": torch, "F": torch.nn.functional}) for expression in expressions}


def in_turn(functions, *inputs, dtypes, layouts=LAYOUTS, **options):
    """Cases of functions of one form, by name: each has the first dtype, and one of the others, which they take in turn.

    Which data types an entry point takes is compared with the documents (test_dtypes.py).
    """
    first, *others = dtypes
    return [
        case
        for i, (name, function) in enumerate(functions.items())
        for case in rows(name, function, *inputs, dtypes=(first, others[i % len(others)]), layouts=layouts, **options)
    ]


def table(cases):
    """Return a test of the cases."""

    @pytest.mark.parametrize("case", [pytest.param(case, marks=beyond_the_documents if case.beyond else ()) for case in cases], ids=str)
    def test(case):
        case.check()

    return test
