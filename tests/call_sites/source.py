"""C++ text as far as call sites need it: scopes and statements, found by brackets; no preprocessor and no grammar."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_SKIPPED = re.compile(
    r'//[^\n]*|/\*.*?\*/|^[ \t]*#(?:\\\n|[^\n])*|R"\((.*?)\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.DOTALL | re.MULTILINE
)
_OPENING, _CLOSING = "([{", ")]}"
# What stands before the brace of a body, and not before that of an initialiser.
_BODY = re.compile(
    r"(?:^|[)\];]|\b(?:else|do|try|const|noexcept|override|mutable)|->\s*[\w:<>, ]+"
    r"|\b(?:namespace|struct|class)\b[^=()]*|\bextern\s*\"\s*\")\s*$"
)


@dataclass
class Scope:
    """A pair of braces that is open where a call stands: what is before it, and its statements up to the call."""

    header: str
    statements: list[str] = field(default_factory=list)
    begin: int = 0


@dataclass(frozen=True)
class Found:
    """A call of a macro: its name, the texts of its arguments, its line, and the scopes around it, the outermost first.

    `before` is the text of the function up to the call, with the blocks that are closed there.
    """

    macro: str
    arguments: tuple[str, ...]
    line: int
    scopes: tuple[Scope, ...]
    function: str = ""  # what is before its body
    before: str = ""


def plain(text: str) -> str:
    """Return the text without comments, directives and the contents of literals, in the same lines."""

    def blank(match: re.Match[str]) -> str:
        whole = match[0]
        kept = '""' if whole[0] in '"R' else "0" if whole[0] == "'" else ""
        return kept + "\n" * whole.count("\n")

    return _SKIPPED.sub(blank, text)


def closing(text: str, start: int) -> int:
    """Return the position of the bracket that closes the one at `start`, or the end of the text."""
    depth = 0
    for position in range(start, len(text)):
        if text[position] in _OPENING:
            depth += 1
        elif text[position] in _CLOSING:
            depth -= 1
            if depth == 0:
                return position
    return len(text)


def split(text: str, separator: str = ",") -> list[str]:
    """Split a text where the separator stands outside of all brackets and template arguments."""
    parts, depth, begin = [], 0, 0
    for position, character in enumerate(text):
        if character in "([{" or (character == "<" and re.match(r"<[\w:<>,*& ]*>", text[position:])):
            depth += 1
        elif character in ")]}" or (character == ">" and depth and text[position - 1] not in "- "):
            depth -= 1
        elif character == separator and depth <= 0:
            parts.append(text[begin:position].strip())
            begin = position + 1
    last = text[begin:].strip()
    return [*parts, last] if parts or last else []


def macro_calls(text: str, macros: re.Pattern[str]) -> Iterator[Found]:
    """Yield the calls of the macros, or of functions, in a source file."""
    text = plain(text)
    starts = {match.start(): match for match in macros.finditer(text)}
    if starts:
        yield from _calls(text, 0, len(text), (Scope(""),), starts)


def _calls(text: str, begin: int, end: int, scopes: tuple[Scope, ...], starts: Mapping[int, re.Match[str]]) -> Iterator[Found]:
    position, statement = begin, ""
    while position < end:
        character = text[position]
        call = starts.get(position)
        if call:
            opened = call.end() - 1
            closed = closing(text, opened)
            known = tuple(Scope(scope.header, list(scope.statements), scope.begin) for scope in scopes)
            function = next((scope for scope in scopes if "(" in scope.header), Scope("", begin=position))
            line = text.count("\n", 0, position) + 1
            arguments = tuple(split(text[opened + 1 : closed]))
            yield Found(call[1], arguments, line, known, function.header, text[function.begin : position])
            scopes[-1].statements.append(text[position : closed + 1])
            position, statement = closed + 1, statement + "0"
        elif character == "{":
            closed = closing(text, position)
            if not any(position < start < closed for start in starts):
                is_body = _BODY.search(statement.strip()) and not _is_open(statement)
                statement = "" if is_body else statement + text[position : closed + 1]
            else:
                yield from _calls(text, position + 1, closed, (*scopes, Scope(" ".join(statement.split()), begin=position)), starts)
                statement = statement + "0" if _is_open(statement) else ""
            position = closed + 1
        elif character == ";" and not _is_open(statement):
            scopes[-1].statements.append(" ".join(statement.split()))
            position, statement = position + 1, ""
        else:
            position, statement = position + 1, statement + character


def _is_open(statement: str) -> bool:
    return statement.count("(") > statement.count(")")
