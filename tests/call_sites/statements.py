"""The shapes and data types that the engine's rows state of outputs (csrc/engine/aten/adapter/expected.h), as terms."""

import importlib.util
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from torch_aclnn._operators import OPERATORS

from .source import closing, split
from .terms import Term, parsed

SOURCES = Path(__file__).parents[2] / "csrc"
OUTPUTS = ("Out", "OptOut", "PackableOut", "FewBitsOut", "OptPackableOut", "InBlocksOut", "AnyFormatOut")
_OF_CERTAIN_TYPES = ("IndicesOut", "Truth", "ComplexOut", "CountOut", "BytesOut")  # Out otherwise
_PARAMETER = "[kind, name __VA_OPT__(, __VA_ARGS__)]"
_EMPTY, _SCALAR = ("{}", ("0",)), ("{}",)


@dataclass(frozen=True)
class Statement:
    """The sizes of which an output has one, and the data type that must convert to its own; none is any."""

    sizes: tuple[Term, ...]
    dtype: Term | None


def statements() -> dict[tuple[str, str], Statement]:
    """Return what the engine states, by entry point and output."""
    found = {(name, parameter): stated(parsed(text)) for name, parameter, text in _texts()}
    # The operators on kernels of their own have no such statement: their checks ask for the shape and the data type of the input.
    for operator in OPERATORS:
        name = operator.entry_point
        given, results = ("input", ("gradInput",)) if operator.family == "batch_norm" else ("self", ("gradInput", "out", "output"))
        found.update({(name, result): Statement(((given,),), (given,)) for result in results})
    return found


def _texts() -> Iterator[tuple[str, str, str]]:
    compiler = shutil.which("c++") or shutil.which("g++")
    assert compiler, "the rows are read with a compiler's preprocessor, which is not there"
    spec = importlib.util.spec_from_file_location("adapters", SOURCES / "interface" / "adapters.py")
    assert spec and spec.loader
    adapters = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(adapters)
    for path in sorted((SOURCES / "engine" / "aten").rglob("*.cpp")):
        for name, text in adapters.marked(SOURCES, path.read_text(), [compiler], _PARAMETER):
            for parameter in split(text):
                kind, output, *statement = split(parameter[1 : closing(parameter, 0)])
                if kind in (*OUTPUTS, *_OF_CERTAIN_TYPES):
                    yield name, output, ", ".join(statement)


def stated(term: Term) -> Statement:
    """Return what a statement says, of those of expected.h; a function of the row's file is left as it is written."""
    head, *parts = term
    first = parts[0] if parts else _SCALAR
    if head == "any_shape":
        return Statement((), None)
    if head in ("or_empty", "if_wanted"):
        inner = stated(parts[-1])
        return Statement((*inner.sizes, _EMPTY, _SCALAR), inner.dtype)
    if head == "either":
        return Statement(stated(parts[0]).sizes + stated(parts[1]).sizes, None)
    if head == "elements":
        others = (_SCALAR,) if first == ("1",) else first[1:] if first[0] == ".numel" else ()
        return Statement((("{}", first), *others), None)
    if head == "as_many_as":
        return Statement((first, ("{}", (".numel", first))), None)
    if head in ("like", "Expected"):
        return Statement((first,), parts[-1] if head == "like" or len(parts) > 1 else None)
    return Statement((first if head in ("shaped_like", "shape", "one_value") else term,), None)
