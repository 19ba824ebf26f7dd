"""The outputs of a call: the shape and the data type that op-plugin gives them, as terms in the names of the engine's parameters."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from .engine import Parameter
from .inference import Symbol
from .sites import Call
from .source import closing, split
from .terms import Term, parsed

_NAME = re.compile(r"(?<![\w.>:])([A-Za-z_]\w*)(?!\w|::|\s*\(|\s*<\w+>\s*\()")
_CALL = re.compile(r"(?:\w+::)*(apply_tensor\w*|empty\w*|zeros\w*|ones\w*|check_tensor|generated)\(")
_CONSTANT = re.compile(r"[A-Z_]\w*|k[A-Z]\w*|true|false|int|int64_t")
_DEEPEST = 6  # a name is not made of itself
_IRRELEVANT = re.compile(r"\.(?:device|memory_format|layout|requires_grad|pinned_memory)\((?:[^()]|\([^()]*\))*\)")
_OF_OPTIONS = re.compile(r"(?:^|\.|::)dtype\((?!\))")
# A view of a tensor, or a copy in another layout, with its shape and data type.
_SAME = re.compile(r"(\w+)(?:\.contiguous\(\)|\.value\(\))?|(?:\w+::)*(?:format_trans|format_contiguous)\((\w+)\)")


@dataclass(frozen=True)
class Output:
    """What a call site makes of an output, or expects of a given one; None where the text is not plain."""

    position: int
    place: str
    size: Term | None
    dtype: Term | None


def outputs_of(call: Call, parameters: tuple[Parameter, ...]) -> Iterator[Output]:
    """Yield the outputs of a call; those that its function is given, of each of the function's callers."""
    if len(call.arguments) == len(parameters):
        for position, parameter in enumerate(parameters):
            symbol = call.symbols.get(call.arguments[position].name)
            callers = call.callers if symbol and not symbol.local else ()
            if parameter.output:
                yield from (_output(maker, position, parameters) for maker in callers or (call,))


def _output(call: Call, position: int, parameters: tuple[Parameter, ...]) -> Output:
    names = _engine_names(call, parameters)
    size, dtype = (_expanded(text, names, call.symbols) for text in _memory(call.arguments[position], call.symbols))
    return Output(position, call.place, parsed(size) if size else None, _dtype(dtype) if dtype else None)


def _engine_names(call: Call, parameters: tuple[Parameter, ...]) -> dict[str, str]:
    """Return the engine's names of what the call passes, and of what that is a copy of."""
    names: dict[str, str] = {}
    for argument, parameter in zip(call.arguments, parameters, strict=True):
        given = re.fullmatch(r"(\w+)(?:\.value\(\))?", argument.name)
        if given and not given[1].isdigit():
            names.setdefault(given[1], parameter.name)
    for passed, name in list(names.items()):
        symbol = call.symbols.get(passed)
        original = _SAME.fullmatch(symbol.value) if symbol and symbol.local else None
        if original:
            names.setdefault(original[1] or original[2], name)
    return names


def _memory(argument: Symbol, symbols: Mapping[str, Symbol]) -> tuple[str, str]:
    """Return the texts of an output's size and data type, which are empty where they are not plain."""
    symbol = symbols.get(argument.name, argument)
    text = symbol.checked or symbol.value
    wrapped = re.fullmatch(r"\{\s*(\w+),.*\}", text)
    if wrapped and wrapped[1] in symbols:  # with a data type that is none of torch's
        return _memory(replace(argument, name=wrapped[1]), symbols)[0], ""
    call = _CALL.match(text)
    if call is None or closing(text, call.end() - 1) != len(text) - 1:
        return "", ""
    name, passed = call[1], split(text[call.end() : -1])
    if name == "check_tensor":
        *of_type, last = passed[2:]
        if not of_type and _is_tensor(last, symbols):
            of_type = [last]
        return last, of_type[-1] if of_type else argument.name
    first, *others = passed
    if name.endswith("_like") or not others:
        return (first, first) if _is_tensor(first, symbols) else ("", "")
    is_reversed = name.startswith("apply") and _is_tensor(first, symbols) and not re.search("options|dtype", others[0])
    return (others[0], first) if is_reversed else (first, others[0])


def _is_tensor(text: str, symbols: Mapping[str, Symbol]) -> bool:
    kind = symbols[text].kind if text in symbols else None
    return kind is not None and kind.name == "tensor"


def _dtype(text: str) -> Term:
    """Return the data type of a text that is one, or a tensor's options."""
    text = _IRRELEVANT.sub("", re.sub(r"\s+", "", text))
    while text.startswith("(") and closing(text, 0) == len(text) - 1:
        text = text[1:-1]
    given = [match for match in _OF_OPTIONS.finditer(text) if closing(text, match.end() - 1) == len(text) - 1]
    if given:
        return _dtype(text[given[0].end() : -1])
    return parsed(re.sub(r"\bk([A-Z]\w+)", r"\1", text))


def _expanded(text: str, names: Mapping[str, str], symbols: Mapping[str, Symbol], depth: int = 0) -> str:
    """Replace what is passed by the engine's names, and other local names by what they were made of; nothing if one is not known."""
    is_known = True

    def replacement(match: re.Match[str]) -> str:
        nonlocal is_known
        name = match[1]
        symbol = symbols.get(name)
        if name in names or (symbol and not symbol.local) or _CONSTANT.fullmatch(name):
            return names.get(name, name)
        inner = _expanded(symbol.value, names, symbols, depth + 1) if symbol and depth < _DEEPEST else ""
        is_known = is_known and bool(inner)
        return inner if inner.startswith("{") else f"({inner})"

    expanded = _NAME.sub(replacement, text)
    return expanded if is_known else ""
