"""What differs between the calls and the engine's prototypes, and the committed list of what may."""

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from .engine import Parameter
from .inference import Symbol
from .sites import Call

COLUMNS = ("entry_point", "argument", "call", "engine", "reason")


@dataclass(frozen=True, order=True)
class Difference:
    """What a call passes and what the engine takes; `argument` counts from 1 and is 0 for the number of arguments."""

    entry_point: str
    argument: int
    call: str
    engine: str


def differences(calls: Iterable[Call], engine: Mapping[str, tuple[Parameter, ...]]) -> dict[Difference, list[str]]:
    """Return the differences, each with the places of the calls."""
    found: dict[Difference, list[str]] = {}
    for call in calls:
        for difference in _of_call(call, engine[call.entry_point]):
            found.setdefault(difference, []).append(call.place)
    return dict(sorted(found.items()))


def _of_call(call: Call, parameters: tuple[Parameter, ...]) -> Iterator[Difference]:
    if len(call.arguments) != len(parameters):
        yield Difference(call.entry_point, 0, f"{len(call.arguments)} arguments", f"{len(parameters)} arguments")
        return
    in_place = {(_spelt(argument.name), _spelt(parameter.name)) for argument, parameter in zip(call.arguments, parameters, strict=True)}
    others = [parameter.name for parameter in parameters if (_spelt(parameter.name),) * 2 not in in_place]
    for position, (argument, parameter) in enumerate(zip(call.arguments, parameters, strict=True), 1):
        differing = _of_argument(argument, parameter) or _of_order(argument.name, parameter.name, others)
        if differing:
            yield Difference(call.entry_point, position, *differing)


def _of_argument(argument: Symbol, parameter: Parameter) -> tuple[str, str] | None:
    if argument.kind is None:
        return None
    if argument.kind.name != parameter.kind.name:
        return argument.kind.name, parameter.kind.name
    if argument.kind.optional and not parameter.kind.optional:
        return str(argument.kind), parameter.kind.name
    if argument.allocated and not parameter.output:
        return "fresh memory", "input"
    if argument.constant and parameter.output:
        return "input", "output"
    return None


def _of_order(passed: str, name: str, others: list[str]) -> tuple[str, str] | None:
    """Compare what is passed by its name: another parameter's is in a wrong place, unless that one gets it, too."""
    meant = next((other for other in others if _spelt(other) == _spelt(passed)), name)
    return None if meant == name else (meant, name)


def _spelt(name: str) -> str:
    return name.replace("_", "").lower()


def read_list(path: Path) -> dict[Difference, str]:
    """Return the accepted differences with their reasons."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return {Difference(row["entry_point"], int(row["argument"]), row["call"], row["engine"]): row["reason"] for row in rows}
