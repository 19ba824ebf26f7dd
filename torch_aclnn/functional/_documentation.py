"""Sections that the docstrings of a family's functions share: arguments, results and errors, for each number of dimensions of a plane."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from torch_aclnn._operators import OPERATORS

_Function = TypeVar("_Function", bound=Callable[..., Any])

_SIZES = {1: "L", 2: "H, W", 3: "D, H, W"}
_RESULT_SIZES = {1: "oL", 2: "oH, oW", 3: "oD, oH, oW"}
_AXES = {1: "cells", 2: "rows and columns", 3: "depth, rows and columns"}
_SIDES = {1: "(left, right)", 2: "(left, right, top, bottom)", 3: "(left, right, top, bottom, front, back)"}

_INPUT = "input: (N, C, {sizes}) or (C, {sizes}); {dtypes}."
_FLOATS = "float32, float16, bfloat16 (and float64 on ``cpu``)"
_RESULT = "(N, C, {result_sizes}) or (C, {result_sizes})"
_NO_TYPE = "TypeError: an argument of another type."

_SECTIONS = {
    "average_pooling": {
        "Args": (
            _INPUT,
            "kernel_size: {axes} of a window; one number applies to all.",
            "stride: step between windows; ``kernel_size`` by default.",
            "padding: zeros around the input, at most half of ``kernel_size``.",
            "ceil_mode: count a last, partial window.",
            "count_include_pad: divide by the window's size with its padding, rather than without.",
            "divisor_override: divide by this instead; any number but 0.",
        ),
        "Returns": (_RESULT + ".",),
        "Raises": (_NO_TYPE, "ValueError: a rank or value outside these limits."),
    },
    "adaptive_average_pooling": {
        "Args": (
            _INPUT,
            "output_size: {axes} of the result; one number applies to all, None keeps the input's. A result without elements is torch's "
            "own, because the entry point takes no such gradient.",
        ),
        "Returns": (_RESULT + ".",),
        "Raises": (_NO_TYPE, "ValueError: a rank other than {rank} or {rank_with_batch}, or a negative output size."),
    },
    "padding": {
        "Args": (_INPUT, "padding: {sides}, or one number for all; a negative number crops."),
        "Returns": (_RESULT + ". The last dimension is larger by left and right, and so on.",),
        "Raises": (
            _NO_TYPE,
            "ValueError: a rank other than {rank} or {rank_with_batch}, a padding that torch does not take, or a padded size below 1.",
        ),
    },
    "max_unpooling": {
        "Args": (
            _INPUT,
            "indices: int64 (or int32, which max_pool3d returns on ``npu``), of input's shape: where in its flattened output plane each "
            "element goes.",
            "kernel_size: the pooling's window, {axes}; one number applies to all.",
            "stride: the pooling's step; ``kernel_size`` by default.",
            "padding: the pooling's padding.",
            "output_size: the sizes of the result, all or those of a plane, where the pooling's arguments leave a choice.",
        ),
        "Returns": (_RESULT + ", zero where no element went.",),
        "Raises": (
            _NO_TYPE,
            "ValueError: a rank, shape, value or device that does not fit.",
            "RuntimeError: an index outside its plane; on ``npu`` at the next synchronisation.",
        ),
    },
}
_DTYPES = {
    "circular": "float16, bfloat16, float32 (and float64, complex64, complex128 on ``cpu``)",
    "padding": "float16, bfloat16, float32, float64, complex64, complex128",
    "max_unpooling": "float32, float16, bfloat16, float64",
}


_NOTES = {
    "replication": "The operator takes paddings from 0 and below the size that they extend. Beyond that it is torch's own function.",
    "reflection": "The cells of the edge itself are not repeated, so that paddings are below the size that they extend. With a negative\n"
    "one it is torch's own function.",
    "circular": "The operator takes paddings from 0 and below the size that they extend. Beyond that it is torch's own function, which\n"
    "goes round once at most.",
}


def documented(function: _Function) -> _Function:
    """Put the note and the sections of its family between a function's summary and its example."""
    name = function.__name__
    stem, dims = name.partition("_")[0], int(name[-2])
    family = next(operator.family for operator in OPERATORS if name in operator.functions)
    words = {
        "sizes": _SIZES[dims],
        "result_sizes": _RESULT_SIZES[dims],
        "axes": _AXES[dims],
        "sides": _SIDES[dims],
        "rank": dims + 1,
        "rank_with_batch": dims + 2,
        "dtypes": _DTYPES.get(stem, _DTYPES.get(family, _FLOATS)),
    }
    parameters = inspect.signature(function).parameters
    sections = [_NOTES[stem]] if stem in _NOTES else []
    for title in ("Args", "Returns", "Raises"):
        lines = _SECTIONS[family][title]
        filled = [line.format(**words) for line in lines if title != "Args" or line.partition(":")[0] in parameters]
        sections.append("\n    ".join([f"{title}:", *filled]))
    summary, _, example = inspect.cleandoc(function.__doc__ or "").partition("Example:")
    function.__doc__ = "\n\n".join([summary.strip(), *sections, f"Example:{example}"])
    return function
