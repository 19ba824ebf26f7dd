"""The kinds of the arguments of a call, from what is declared around it. Where the text is not plain, the kind is unknown."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from .kinds import Kind, cpp_kind
from .source import Found, closing, split

TENSOR, INT, INTS = Kind("tensor"), Kind("int64"), Kind("int array")

_NOT_A_TYPE = re.compile(r"(?:return|delete|else|using|typedef|throw|case|goto|new|namespace|template|if|for|while|switch)\b")
_PATH = re.compile(r"(?:(?:const|static|constexpr|inline|unsigned)\s+)*[A-Za-z_][\w:]*")
_NAME = re.compile(r"\s*(?:const\b)?\s*([&*]*)\s*([A-Za-z_]\w*)\s*")
_ALLOCATION = re.compile(r"\b(?:apply_tensor\w*|at::empty\w*|at_npu::native::empty_\w+|new_empty\w*)\((?!\{0\})")
_UNDEFINED = re.compile(r"\b(?:at::)?Tensor(?:\(\)|\{\})|^\{nullptr\}$")
_MAKES_TENSORS = re.compile(
    r"(?:\w+::)*(?:apply_tensor\w*|copy_tensor_host_to_device|copy_scalar_to_device|npu_dtype_cast|reshape|contiguous|custom_ops::\w+)\("
    r"|at::(?:empty|zeros|ones|full|scalar_tensor|tensor|cat|arange|sum|unsqueeze|matmul)(?:_like|_strided)?\("
)
# What a method of a tensor, an optional or an array returns, of the last one in a chain.
_METHODS = {
    **dict.fromkeys(("contiguous", "to", "clone", "detach", "fill_", "zero_", "mul", "new_empty", "new_zeros", "repeat"), TENSOR),
    **dict.fromkeys(("reshape", "view", "view_as", "flatten", "unsqueeze", "squeeze", "expand", "expand_as"), TENSOR),
    **dict.fromkeys(("transpose", "permute", "t", "slice", "select", "narrow"), TENSOR),
    **dict.fromkeys(("size", "dim", "numel", "expect_int", "stride", "toLong", "storage_offset"), INT),
    **dict.fromkeys(("sizes", "strides", "sym_sizes", "vec"), INTS),
    **dict.fromkeys(("scalar_type", "toScalarType"), Kind("dtype")),
    **dict.fromkeys(("has_value", "defined", "is_contiguous", "empty", "toBool"), Kind("bool")),
    **dict.fromkeys(("toDouble",), Kind("double")),
    **dict.fromkeys(("toFloat",), Kind("float")),
    **dict.fromkeys(("toInt",), Kind("int32")),
    **dict.fromkeys(("item",), Kind("scalar")),
    **dict.fromkeys(("data", "c_str"), Kind("string")),
}
_LITERALS = (
    (re.compile(r"(?:true|false)"), Kind("bool")),
    (re.compile(r"-?\d+"), Kind("int32")),
    (re.compile(r"-?\d+(?:[uU]?[lL]+)"), INT),
    (re.compile(r"-?(?:\d+\.\d*|\.\d+)(?:[eE]-?\d+)?|-?\d+[eE]-?\d+"), Kind("double")),
    (re.compile(r"-?(?:\d+\.\d*|\.\d+)(?:[eE]-?\d+)?f"), Kind("float")),
    (re.compile(r'"[^"]*"'), Kind("string")),
    (re.compile(r"(?:at|c10)::(?:ScalarType::\w+|k[A-Z]\w*)"), Kind("dtype")),
    (re.compile(r"![^=].*|[^?]*(?:==|!=|&&|\|\|)[^?]*"), Kind("bool")),
)


@dataclass(frozen=True)
class Symbol:
    """What a name stands for; `allocated` is the call that made it, of a tensor with fresh memory."""

    kind: Kind | None
    allocated: str = ""
    constant: bool = False  # a parameter that the function may not write
    name: str = ""  # of an argument, as the call writes it
    local: bool = False
    value: str = ""  # what a local name was made of, unless it was changed later
    checked: str = ""  # the call that made a given output what the operator expects


def symbols_of(call: Found, functions: Mapping[str, Kind | None]) -> dict[str, Symbol]:
    """Return what the names are that a call may use."""
    symbols: dict[str, Symbol] = {}
    for scope in call.scopes:
        symbols.update(parameters_of(scope.header, functions, symbols))
        for statement in scope.statements:
            symbols.update(_written(statement, symbols) or _checked(statement, symbols) or declaration(statement, symbols, functions))
    return {name: replace(symbol, value=_last_value(name, symbol, call.before)) for name, symbol in symbols.items()}


def parameters_of(header: str, functions: Mapping[str, Kind | None], known: Mapping[str, Symbol] | None = None) -> dict[str, Symbol]:
    """Return the parameters of a function, or what a loop declares, by name."""
    found: dict[str, Symbol] = {}
    for declared in _parameters(header):
        found.update(declaration(declared, {**(known or {}), **found}, functions, parameter=True))
    return found


def _last_value(name: str, symbol: Symbol, text: str) -> str:
    """Return what a name was made of, nothing if it was changed. A tensor may be declared before, and be made in only one way."""
    if not symbol.local:
        return ""
    assigned = re.findall(rf"[;{{}})]\s*{name}\s*=(?!=)\s*([^;]*);", text)
    changes = (
        r"\s*\[[^]]*\]\s*[-+*/]?=(?!=)|\s*[-+*/]=|\.(?:push_back|emplace_back|insert|resize|pop_back|erase|assign|append|clear|swap)\("
    )
    ways = {symbol.value, *assigned} - ({""} if symbol.kind and symbol.kind.name == TENSOR.name else set())
    return ways.pop() if len(ways) == 1 and not re.search(rf"[;{{}})]\s*{name}(?:{changes})", text) else ""


def _checked(statement: str, symbols: Mapping[str, Symbol]) -> dict[str, Symbol]:
    """Return the given output of which a statement says what the operator expects."""
    passed = split(statement[statement.index("(") + 1 : -1]) if re.match(r"(?:\w+::)*check_tensor\(", statement) else []
    return {name: replace(symbols[name], checked=statement) for name in passed[1:2] if name in symbols}


def arguments_of(call: Found, symbols: Mapping[str, Symbol], functions: Mapping[str, Kind | None]) -> list[Symbol]:
    """Return what the arguments of a call are, those after the entry point."""
    return [replace(symbol_of(text, symbols, functions), name=text) for text in call.arguments[1:]]


def _written(statement: str, symbols: Mapping[str, Symbol]) -> dict[str, Symbol]:
    """Return what an earlier call has filled, which is fresh memory no more."""
    passed = split(statement[statement.index("(") + 1 : -1]) if statement.startswith("EXEC_") else []
    return {name: replace(symbols[name], allocated="") for name in passed if name in symbols}


def _parameters(header: str) -> list[str]:
    """Return the declarations in the last pair of parentheses of a header: parameters, or the first part of a loop."""
    begin, last = 0, ""
    while (begin := header.find("(", begin)) >= 0:
        end = closing(header, begin)
        last = header[begin + 1 : end]
        begin = end
    return split(last.split(";")[0].split(" : ")[0])


def declaration(
    statement: str, known: Mapping[str, Symbol], functions: Mapping[str, Kind | None], parameter: bool = False
) -> dict[str, Symbol]:
    """Return the names that a statement declares."""
    declared = _type_and_rest(statement)
    if declared is None:
        return {}
    type_name, rest = declared
    found: dict[str, Symbol] = {}
    for part in split(rest):
        name = _NAME.match(part)
        if name is None or (part[name.end() :] and part[name.end()] not in "=({["):
            return found
        initialiser = part[name.end() :].lstrip("= ")
        is_text = type_name.endswith("char") and ("*" in name[1] or part[name.end() :].startswith("["))
        symbol = _declared(type_name + "*" * is_text, initialiser, {**known, **found}, functions)
        found[name[2]] = replace(
            symbol,
            constant=parameter and statement.startswith("const"),
            local=not parameter,
            value="" if parameter else initialiser,
            checked="",
        )
    return found


def _type_and_rest(statement: str) -> tuple[str, str] | None:
    path = None if _NOT_A_TYPE.match(statement) else _PATH.match(statement)
    if path is None:
        return None
    end, depth = path.end(), 0
    while statement[end : end + 1] == "<" or depth:
        depth += {"<": 1, ">": -1}.get(statement[end : end + 1], 0)
        end += 1
        if end >= len(statement):
            return None
    return (statement[:end], statement[end:]) if _NAME.match(statement[end:]) else None


def _declared(type_name: str, initialiser: str, symbols: Mapping[str, Symbol], functions: Mapping[str, Kind | None]) -> Symbol:
    value = symbol_of(initialiser, symbols, functions) if initialiser else Symbol(None)
    if re.fullmatch(r"(?:const |static |constexpr )*auto", type_name):
        return value
    kind = cpp_kind(type_name)
    if kind == TENSOR:
        kind = Kind("tensor", bool(_UNDEFINED.search(initialiser)) or (value.kind is not None and value.kind.optional))
        return Symbol(kind, value.allocated)
    return Symbol(kind)


def symbol_of(text: str, symbols: Mapping[str, Symbol], functions: Mapping[str, Kind | None]) -> Symbol:
    """Return what an expression is."""
    text = text.strip()
    if text in symbols:
        return symbols[text]
    for literal, kind in _LITERALS:
        if literal.fullmatch(text):
            return Symbol(kind)
    chosen = _choice(text)
    if chosen:
        return _either([symbol_of(part, symbols, functions) for part in chosen])
    allocation = _ALLOCATION.search(text)
    if allocation and closing(text, allocation.end() - 1) == len(text) - 1:
        return Symbol(TENSOR, text)
    return Symbol(_kind(text, symbols, functions))


def _choice(text: str) -> list[str]:
    """Return the two values between which a conditional expression chooses."""
    condition = split(text, "?")
    return re.split(r"(?<!:):(?!:)", condition[1]) if len(condition) == 2 else []


def _either(values: Iterable[Symbol]) -> Symbol:
    kinds = {value.kind for value in values}
    names = {kind and kind.name for kind in kinds}
    return Symbol(Kind(names.pop(), len(kinds) > 1 or kinds.pop().optional) if len(names) == 1 and None not in kinds else None)


def _kind(text: str, symbols: Mapping[str, Symbol], functions: Mapping[str, Kind | None]) -> Kind | None:
    cast = re.match(r"(?:static|const|reinterpret)_cast<(.+?)>\(|\((\w+)\)\s*[-\w(]", text)
    if cast:
        return cpp_kind(cast[1] or cast[2])
    if text.startswith("*") and text[1:] in symbols:
        kind = symbols[text[1:]].kind
        return kind and Kind(kind.name)
    member = re.fullmatch(r"(\w+)\[[^][]+\]", text)
    if member and member[1] in symbols:
        kind = symbols[member[1]].kind
        return Kind(kind.name.removesuffix(" list")) if kind and kind.name.endswith(" list") else None
    method = re.fullmatch(r"(.+?)(?:\.|->)(\w+)(?:<(\w+)>)?\((.*)\)", text)
    given = re.match(r"(?:c10::)?value_or_else\((\w+),|(\w+)(?:\.|->)(?:value|value_or)\(", text)
    if given:
        held = symbols.get(given[1] or given[2])
        return held and held.kind and Kind(held.kind.name, held.kind == Kind("tensor", True) and bool(_UNDEFINED.search(text)))
    if _MAKES_TENSORS.match(text):
        return TENSOR
    last = re.search(r"(?:\.|->)(\w+)(?:<(\w+)>)?\([^()]*\)$", text)
    if method and last:
        return cpp_kind(last[2]) if last[2] else _METHODS.get(last[1])
    called = re.match(r"((?:\w+::)*)(\w+(?:<[\w:]+>)?)[({]", text)
    if called and closing(text, called.end() - 1) == len(text) - 1:
        return cpp_kind(called[2]) or functions.get(called[2])
    return None
