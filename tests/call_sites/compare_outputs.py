"""What differs between the outputs that the calls pass and those that the engine's rows state."""

from collections import Counter
from collections.abc import Iterable, Mapping

from .compare import Difference
from .engine import Parameter
from .outputs import Output, outputs_of
from .sites import Call
from .statements import Statement
from .terms import Rule, Term, filled, rewritten, written

# Longer texts are formulas that are written out, and no two are written alike.
_LONGEST = 160


def output_differences(
    calls: Iterable[Call], engine: Mapping[str, tuple[Parameter, ...]], statements: Mapping[tuple[str, str], Statement], rules: list[Rule]
) -> tuple[Counter[str], dict[Difference, list[str]]]:
    """Return how many outputs are read, unread, not stated and equal, those of which the data type is equal, and the differences."""
    counts: Counter[str] = Counter()
    found: dict[Difference, list[str]] = {}
    for call in calls:
        parameters = engine[call.entry_point]
        for output in outputs_of(call, parameters):
            statement = statements.get((call.entry_point, parameters[output.position].name))
            if statement is None:  # it is an input, too, which is written in place
                continue
            for what, made, expected in _compared(output, statement, parameters, rules):
                counts[what] += 1
                if what.endswith("different"):
                    difference = Difference(call.entry_point, output.position + 1, f"{what.split()[0]} {made}", expected)
                    found.setdefault(difference, []).append(output.place)
    return counts, dict(sorted(found.items()))


def _compared(output: Output, statement: Statement, parameters: tuple[Parameter, ...], rules: list[Rule]) -> Iterable[tuple[str, str, str]]:
    # A scalar has no dimensions, where a tensor with one value may be passed.
    scalars: dict[str, Term] = {parameter.name: ("{}",) for parameter in parameters if parameter.kind.name == "scalar"}

    def plain(term: Term) -> Term:
        return rewritten(filled(term, scalars), rules)

    sizes = [plain(size) for size in statement.sizes]
    made = plain(output.size) if output.size else None
    if not sizes:
        yield "size not stated", "", ""
    elif made is None or len(written(made)) > _LONGEST:
        yield "size unread", "", ""
    elif made in sizes:
        yield "size equal", "", ""
    else:
        yield "size different", written(made), written(sizes[0])
    if output.dtype == (parameters[output.position].name,):
        return  # it is the caller's
    if statement.dtype and output.dtype:
        dtypes = plain(output.dtype), plain(statement.dtype)
        yield "type equal" if dtypes[0] == dtypes[1] else "type different", *map(written, dtypes)
    else:
        yield "type not stated" if output.dtype else "type unread", "", ""
