"""The records of this folder: what is known of each published entry point of csrc/engine/aten.

A file is a family, and a section of it a source file of csrc/engine/aten/<family>. The keys are described in CONTRIBUTING.md,
"How to add another entry point".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent
# Keys of a file that are no section.
_SHARED = {"kinds", "calls", "tensors", "callers", "facts", "costs"}
# What `facts` may state; `drawing` follows from a seed, and `packing` from a packed result.
_FACTS = {
    "computes_first",
    "fills",
    "disjunction",
    "conjunction",
    "equality",
    "inequality",
    "zeroing",
    "choosing",
    "joining",
    "system_workspace",
    "unpublished",
}
_WORDS = "contiguous if strict|contiguous|not empty"
_UNWANTED = "nothing is written to it unless another argument asks for it"
# The keys that a version inherits from its base.
_INHERITED = ("types", "requires", "starts_from", "does", "sound", "unchecked", "only_on")
_KEYS = {
    "call",
    "base",
    "inplace",
    "types",
    "page",
    "requires",
    "starts_from",
    "does",
    "each",
    "function",
    "max_workspace",
    "sound",
    "unchecked",
    "unwanted",
    "only_on",
}


class RecordError(ValueError):
    """A record that says something which cannot be understood."""


@dataclass(frozen=True)
class Kind:
    """The kind of a parameter: its type in C++, and the values or data types to which the record restricts it.

    Attributes:
        name: of the C++ type in ``torch_aclnn::host::aten::kind``, such as ``In`` or ``Steps<2>``.
        types: the data types of a tensor, as the record has them: ``INT32 | INT64``, ``same(query) | INT8``; empty for the usual ones.
        values: the texts or the range of numbers that are taken, as the record has them; empty where all are.

    """

    name: str
    types: str = ""
    values: str = ""

    @property
    def c_type(self) -> str:
        """The type of the parameter in C."""
        return c_type(self.name)

    @property
    def range(self) -> tuple[int, int | None] | None:
        """The smallest and the largest number; None in the place of the second is the largest of the type."""
        found = re.fullmatch(r"(-?\d+)\.\.(-?\d*)", self.values)
        return (int(found[1]), int(found[2]) if found[2] else None) if found else None

    @property
    def choices(self) -> tuple[str, ...]:
        """The texts or numbers that are taken."""
        return () if not self.values or self.range else tuple(choice.strip('"') for choice in self.values.split("|"))


@dataclass(frozen=True)
class Parameter:
    """A parameter of phase 1.

    Attributes:
        kind: what it is.
        name: CANN's.
        shape: what it must have: a C++ expression of the others' names, empty where it may have any.
        word: what is excluded of most tensors' freedom: ``contiguous``, ``contiguous if strict`` or, of a list, ``not empty``.

    """

    kind: Kind
    name: str
    shape: str = ""
    word: str = ""

    @property
    def c_type(self) -> str:
        """The type in C."""
        return self.kind.c_type

    @property
    def is_tensor(self) -> bool:
        """Whether it is a tensor or a list of them."""
        return "Tensor" in self.c_type


@dataclass(frozen=True)
class TensorTypes:
    """The data types of a tensor.

    Attributes:
        listed: in C++; empty where there are none but that of the other tensor.
        same_as: the tensor whose data type it may have, too; empty for none.
        is_operand: whether the results' data types follow from its.
        is_result: whether the operands' data types must convert to it.

    """

    listed: str
    same_as: str
    is_operand: bool
    is_result: bool


@dataclass(frozen=True)
class Record:
    """What is known of an entry point.

    Attributes:
        name: as ``aclnnReduceSum``.
        family: the file, without its suffix.
        source: the section, which is a file of the family in csrc/engine/aten.
        parameters: of phase 1, without ``workspaceSize`` and ``executor``.
        types: the data types of each tensor of which nothing else is stated, in C++.
        pages: by parameter, the release of the documents that list the types, and in what the engine differs from it.
        requires: expressions that phase 1 evaluates behind the ranks and before the other shapes; ``a`` is the struct of all arguments.
        starts_from: the parameter of which ``out`` is a copy when ``does`` begins; the two may be one.
        does: what phase 2 computes, in C++; empty where the source defines ``compute``.
        base: the version whose parameters this one refers to.
        function: the parameters of a function in one phase, in C.
        max_workspace: whether there is a function for the largest workspace too.
        sound: what differs, in a call that is taken, from the usual value of a kind and from the shapes that phase 1 asks for.
        unchecked: parameters of which any value or shape is taken, with the reason.
        only_on: the product that alone has it; empty for all.
        callers: the clients that are known to call it; empty for none.
        facts: what a dry run and the page of coverage have to know, such as ``fills``.
        cost: what a launch has to do, as ``product(self, mat2, out)``: a formula of torch_aclnn/timing, and tensors; empty for all bytes.

    """

    name: str
    family: str
    source: str
    parameters: tuple[Parameter, ...] = ()
    types: str = ""
    pages: dict[str, str] = field(default_factory=dict)
    requires: str = ""
    starts_from: str = ""
    does: str = ""
    base: str = ""
    function: str = ""
    max_workspace: bool = False
    sound: str = ""
    unchecked: dict[str, str] = field(default_factory=dict)
    only_on: str = ""
    callers: tuple[str, ...] = ("torch_npu",)
    facts: frozenset[str] = frozenset()
    cost: str = ""

    @property
    def struct(self) -> str:
        """The name of the struct of arguments, which versions share."""
        return (self.base or self.name).removeprefix("aclnn").removeprefix("acl")

    def types_of(self, parameter: Parameter) -> TensorTypes:
        """Return the data types that a tensor, or each member of a list, may have."""
        name = parameter.kind.name
        is_written = "Out" in name or name == "Packed"
        if not parameter.kind.types:
            return TensorTypes(self.types, "", not is_written or "InOut" in name, is_written)
        reference = re.search(r"\bsame(?:\((\w+)\))?(?: \| )?", parameter.kind.types)
        listed = parameter.kind.types.replace(reference[0], "") if reference else parameter.kind.types
        first = next(parameter.name for parameter in self.parameters if parameter.is_tensor)
        same_as = (reference[1] or first) if reference else ""
        return TensorTypes(re.sub(r"\blisted\b", f"({self.types})", listed), same_as, False, False)


@cache
def _c_types() -> dict[str, str]:
    with (FOLDER / "kinds.yaml").open() as file:
        return {kind: c_type for c_type, kinds in yaml.load(file, yaml.CSafeLoader).items() for kind in kinds}


def c_type(kind: str) -> str:
    """Return the type in C of a kind, such as ``Steps<2>``."""
    return _c_types()[re.sub(r"<.*", "", kind)]


def families() -> list[str]:
    """Return the names of the files."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml") if path.stem != "kinds")


@cache
def read(family: str) -> tuple[Record, ...]:
    """Return the records of a family, in the order of its file."""
    with (FOLDER / f"{family}.yaml").open() as file:
        content = yaml.load(file, yaml.CSafeLoader)
    aliases = content.get("kinds") or {}
    usual = _usual(content.get("tensors") or {})
    found: dict[str, Record] = {}
    for source, rows in content.items():
        if source not in _SHARED:
            types = usual | _usual(content.get("tensors", {}).get(source) or {})
            for name, row in _rows(rows or {}):
                try:
                    found[name] = _record(name, family, source, row, aliases, types, found)
                except (RecordError, KeyError) as error:
                    raise RecordError(f"{family}.yaml: {name}: {error}") from error
    callers, facts = _by_name(content, "callers"), _by_name(content, "facts")
    costs = {name: cost for cost, names in (content.get("costs") or {}).items() for name in names.split()}
    if unknown := (callers.keys() | facts.keys() | costs.keys() - content.keys()) - found.keys() or set().union(*facts.values()) - _FACTS:
        raise RecordError(f"{family}.yaml: expected records and facts that there are, got {', '.join(sorted(unknown))}")
    known = (replace(record, cost=_cost(record, costs.get(record.name, costs.get(record.source, "")))) for record in found.values())
    return tuple(_with_facts(record, callers.get(record.name), facts.get(record.name, set())) for record in known)


def read_own() -> list[Record]:
    """Return the entry points with kernels of their own: their names and parameters alone."""
    with (FOLDER.parent / "contract" / "parameters.yaml").open() as file:
        rows = yaml.load(file, yaml.CSafeLoader)
    return [Record(name, "", "", tuple(_parameters(call, {}, None))) for name, call in rows.items()]


def read_all() -> list[Record]:
    """Return the records of all families."""
    return [record for family in families() for record in read(family)]


def _rows(section: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    # After the records, `inplace` lists versions in place that differ from their base only as their name says.
    yield from ((name, row) for name, row in section.items() if name != "inplace")
    for base in section.get("inplace", "").split():
        yield base.replace("aclnn", "aclnnInplace", 1), {"inplace": base}


def _by_name(content: dict[str, Any], key: str) -> dict[str, set[str]]:
    # By entry point, the words under which it stands, or its section.
    found: dict[str, set[str]] = {}
    for word, names in (content.get(key) or {}).items():
        for name in names.split():
            for one in content.get(name, [name]):
                found.setdefault(one, set()).add(word)
    return found


def _cost(record: Record, stated: str) -> str:
    """Return the cost with the tensors that the record has: the first of ``a|b``, and ``a?`` if it is there."""
    tensors = {parameter.name for parameter in record.parameters if parameter.is_tensor}
    formula, _, operands = stated.partition("(")
    found = []
    for operand in operands.rstrip(")").split(", ") if operands else ():
        names = [name for name in operand.rstrip("?").split("|") if name in tensors]
        if not names and not operand.endswith("?"):
            raise RecordError(f"{record.name}: costs: expected {operand}, got {', '.join(sorted(tensors))}")
        found += names[:1]
    return f"{formula}({', '.join(found)})" if found else formula


def _with_facts(record: Record, callers: set[str] | None, facts: set[str]) -> Record:
    if any(parameter.name in ("seed", "seedTensor") for parameter in record.parameters):
        facts = facts | {"drawing"}
    if any(parameter.kind.name == "Packed" for parameter in record.parameters):
        facts = facts | {"packing"}
    known = record.callers if callers is None else tuple(sorted(callers - {"nobody known"}))
    return replace(record, callers=known, facts=frozenset(facts))


def _usual(statements: dict[str, Any]) -> dict[str, str]:
    # By name of a tensor, the data types of a file, or of a section of it.
    return {name: types for types, names in statements.items() if isinstance(names, str) for name in names.split()}


def _record(
    name: str, family: str, source: str, row: dict[str, Any], aliases: dict[str, str], usual: dict[str, str], before: dict[str, Record]
) -> Record:
    if unknown := row.keys() - _KEYS:
        raise RecordError(f"expected keys of {', '.join(sorted(_KEYS))}, got {', '.join(sorted(unknown))}")
    if "inplace" in row:
        return _in_place(name, before[row["inplace"]], row)
    base = before[row["base"]] if "base" in row else None
    # A version does what its base does unless it says something else.
    inherited = {key: value for key in _INHERITED if (value := getattr(base, key, ""))}
    own = {key: value for key, value in row.items() if key not in ("call", "base", "page", "types", "unwanted")}
    if "each" in row:
        own["does"] = f"for_each(out, [&](at::Tensor& result, size_t i) {{ {own.pop('each')}; }})"
    if "unwanted" in row:
        own["unchecked"] = row.get("unchecked", {}) | {f"{output} shape": _UNWANTED for output in row["unwanted"].split()}
    record = Record(name, family, source, **inherited | own)
    types, _, page = row.get("types", "").partition(" @ ")
    parameters = tuple(_parameters(row.get("call", ""), aliases, base))
    first = next((parameter.name for parameter in parameters if parameter.is_tensor), "")
    parameters = tuple(parameter if parameter.name == first else _typed(parameter, usual) for parameter in parameters)
    return replace(
        record,
        parameters=parameters,
        types=types or record.types,
        only_on=str(record.only_on),
        pages=({first: page} if page else base.pages if base and not types else {}) | row.get("page", {}),
        base=(base.base or base.name) if base else "",
    )


def _typed(parameter: Parameter, usual: dict[str, str]) -> Parameter:
    # With the data types that the file states for all tensors of the name.
    types = parameter.kind.types or usual.get(parameter.name, "")
    return replace(parameter, kind=replace(parameter.kind, types=types)) if parameter.is_tensor else parameter


def _in_place(name: str, base: Record, row: dict[str, Any]) -> Record:
    # What writes into ``self``: selfRef has the place of self and of out.
    def renamed(text: str) -> str:
        return re.sub(r"\b(self|out)\b", "selfRef", text)

    own, out = (next(parameter for parameter in base.parameters if parameter.name == name) for name in ("self", "out"))
    shape = own.shape if out.shape in ("like(self)", "shaped_like(self)") else out.shape
    parameters = [replace(parameter, shape=renamed(parameter.shape)) for parameter in base.parameters if parameter is not out]
    # Where the result's data type does not follow from the operands', selfRef's is as listed.
    listed = own.kind.types or ("listed" if out.kind.types else "")
    parameters[base.parameters.index(own)] = Parameter(Kind("InOut", listed), "selfRef", renamed(shape))
    types, _, page = row.get("types", "").partition(" @ ")
    return replace(
        base,
        name=name,
        parameters=tuple(parameters),
        types=types or base.types,
        pages={"selfRef": page if types else base.pages.get("self", "")},
        requires=row.get("requires", renamed(base.requires)),
        does=row.get("does", renamed(base.does)),
        sound=row.get("sound", renamed(base.sound)),
        unchecked={what: reason for what, reason in base.unchecked.items() if not what.startswith("out ")},
    )


def _parameters(text: str, aliases: dict[str, str], base: Record | None) -> Iterator[Parameter]:
    known = {parameter.name: parameter for parameter in (base.parameters if base else ())}
    names = list(known)
    for part in split(text):
        declaration, _, shape = part.partition(" = ")
        declaration, shape = declaration.strip(), shape.strip()
        first, dots, last = declaration.partition("..")
        if dots and first in known and last in known:
            yield from (known[name] for name in names[names.index(first) : names.index(last) + 1])
        elif declaration in known:
            yield replace(known[declaration], shape=shape) if shape else known[declaration]
        else:
            yield _parameter(declaration, shape, aliases)


_DECLARATION = re.compile(
    r"(?P<kind>\w+(?:<[^>]*>)?) (?P<name>\w+)(?: of (?P<types>.+?))?(?: in (?P<values>\S+))?" rf"(?: (?P<word>{_WORDS}))?"
)


def _parameter(declaration: str, shape: str, aliases: dict[str, str]) -> Parameter:
    match = _DECLARATION.fullmatch(declaration)
    if match is None:
        raise RecordError(f"expected a kind and a name, got {declaration!r}")
    kind = Kind(match["kind"], match["types"] or "", match["values"] or "")
    if kind.name in aliases:
        named = re.fullmatch(r"(\w+)(?: of (.+?))?(?: in (\S+))?", aliases[kind.name])
        if named is None:
            raise RecordError(f"expected a kind, got {aliases[kind.name]!r}")
        kind = Kind(named[1], named[2] or "", named[3] or "")
    if re.sub(r"<.*", "", kind.name) not in _c_types():
        raise RecordError(f"expected a kind of kinds.yaml, got {kind.name}")
    return Parameter(kind, match["name"], shape, match["word"] or "")


def split(text: str) -> list[str]:
    """Return the parts between commas that are in no brackets."""
    parts, depth = [""], 0
    quoted = False
    for character in " ".join(text.split()):
        quoted ^= character == '"'
        depth += 0 if quoted else (character in "([{") - (character in ")]}")
        if character == "," and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]
