"""Sizes and data types in one notation: what op-plugin's texts and the engine's rows have in common is written the same.

A term is a head with terms: the name of a function or of a method, with a point before it; "{}" of a list, "[]" of an element of one,
"choice" of a conditional expression. A name, or a text of another form, is a head alone.
"""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .source import closing, split

Term = tuple[Any, ...]  # a text, and terms
_QUALIFIED = re.compile(r"\b(?:[A-Za-z_]\w*::)+")
# Kinds of sequences, of which the elements count, and calls that change neither the shape nor the data type.
_SEQUENCE = re.compile(r"\b(?:SmallVector|ArrayRef|vector|array|IntArrayRef|SymIntArrayRef)(?:<[^<>]*>)?(?=[({])")
_ELEMENT = re.compile(r"\(?\b(\w+)\.sizes\(\)\)?\[(\w+)\]")
_AS_IT_IS = re.compile(r"\.(?:sizes|sym_sizes|vec|contiguous|clone|scalar_type|options|value|dtype)\(\)")
_SUFFIX = re.compile(r"\b(\d+)[uUlL]+\b")
_CAST = re.compile(r"\bstatic_cast<[\w<>]+>(?=\()")
_BRACKETS = re.compile(r"\([^()]*\)|<[\w,]*>")
_OPERATOR = re.compile(r"[-+*/<>=!&|]")
_VARIABLE = re.compile(r"_\d")


@dataclass
class Rule:
    """Two terms that are the same, with variables _1, _2, ...; the second replaces the first."""

    pattern: Term
    result: Term
    is_used: bool = False


def parsed(text: str) -> Term:
    """Return the term that a C++ expression is."""
    text = _QUALIFIED.sub("", re.sub(r"\s+", "", text))
    text = _ELEMENT.sub(r"\1.size(\2)", text)
    return _parsed(_AS_IT_IS.sub("", _SUFFIX.sub(r"\1", _CAST.sub("", _SEQUENCE.sub("", text)))))


def _parsed(text: str) -> Term:
    while text.startswith("(") and closing(text, 0) == len(text) - 1:
        text = text[1:-1]
    choice = split(text, "?")
    if len(choice) == 2:
        return ("choice", *map(_parsed, (choice[0], *split(choice[1], ":"))))
    opened = next((i for i, character in enumerate(text) if character in "([{" and closing(text, i) == len(text) - 1), len(text))
    before, members = text[:opened], split(text[opened + 1 : -1])
    if text[opened:] == "" or _OPERATOR.search(_BRACKETS.sub("", before)):
        return (text,) if text else ("{}",)
    if text[opened] == "[":
        return ("[]", _parsed(before), *map(_parsed, members))
    if before:
        owner, _, name = before.rpartition(".")
        return (f".{name}", _parsed(owner), *map(_parsed, members)) if owner else (name, *map(_parsed, members))
    if len(members) == 2 and members[0].startswith('"'):  # a name for messages
        return _parsed(members[1])
    # {{2, 3}} is a list of which a list is made.
    return _parsed(members[0]) if len(members) == 1 and members[0].startswith("{") else ("{}", *map(_parsed, members))


def matched(pattern: Term, term: Term, found: dict[str, Term]) -> bool:
    """Return whether a term has the form of a pattern, and put what is at its variables _1, _2, ... into `found`."""
    if len(pattern) == 1 and _VARIABLE.fullmatch(pattern[0]):
        return found.setdefault(pattern[0], term) == term
    return pattern[0] == term[0] and len(pattern) == len(term) and all(map(matched, pattern[1:], term[1:], [found] * len(term)))


def filled(pattern: Term, values: Mapping[str, Term]) -> Term:
    """Return the pattern with terms for its variables."""
    return values[pattern[0]] if pattern[0] in values else (pattern[0], *(filled(part, values) for part in pattern[1:]))


def read_rules(path: Path) -> list[Rule]:
    """Return the rules of a table, a row each."""
    with path.open(newline="") as file:
        return [Rule(parsed(row["text"]), parsed(row["same"])) for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]


def rewritten(term: Term, rules: list[Rule]) -> Term:
    """Return a term after the rules, from the inside out."""
    term = (term[0], *(rewritten(part, rules) for part in term[1:]))
    for rule in rules:
        found: dict[str, Term] = {}
        if matched(rule.pattern, term, found):
            rule.is_used = True
            return rewritten(filled(rule.result, found), rules)
    if term[0] == "broadcast":  # in any order
        operands = term[1][1:] if len(term) == 2 and term[1][0] == "{}" else term[1:]  # the engine's are a list
        members = {member for part in operands for member in (part[1:] if part[0] == "broadcast" else (part,))}
        members.discard(("{}",))
        return ("broadcast", *sorted(members)) if len(members) > 1 else members.pop() if members else ("{}",)
    return term


def written(term: Term) -> str:
    """Return the text of a term."""
    head, *parts = term[0], *map(written, term[1:])
    if head == "{}":
        return f"{{{', '.join(parts)}}}"
    if head == "[]":
        return f"{parts[0]}[{parts[1]}]"
    if head.startswith("."):
        return f"{parts[0]}{head}({', '.join(parts[1:])})"
    return f"{head}({', '.join(parts)})" if parts else head
