"""What the engine says of its entry points: the C types of its headers, and which arguments may be null."""

import re
from dataclasses import dataclass

from torch_aclnn.host import includedir
from torch_aclnn.host.registry import entry_points

from .kinds import Kind, c_kind

_PHASE_1 = re.compile(r"\b(acl\w+)GetWorkspaceSize\(([^()]*)\);")


@dataclass(frozen=True)
class Parameter:
    """A parameter of a first phase; `kind.optional` where the engine takes a null pointer."""

    name: str
    kind: Kind
    output: bool  # the callee may write it


def prototypes() -> dict[str, tuple[Parameter, ...]]:
    """Return the parameters of the engine's entry points, without the workspace and the executor, by name."""
    declared = {name: text for path in includedir().rglob("*.h") for name, text in _PHASE_1.findall(path.read_text())}
    nullable = {entry.name: {parameter.name for parameter in entry.parameters if parameter.nullable} for entry in entry_points()}
    return {name: parameters(text, nullable[name]) for name, text in declared.items() if name in nullable}


def parameters(text: str, nullable: set[str]) -> tuple[Parameter, ...]:
    """Return the parameters of a prototype's text."""
    found = []
    for declared in text.split(",")[:-2]:
        c_type, name = re.fullmatch(r"\s*(.+?)(\w+)\s*", declared, re.DOTALL).groups()
        found.append(Parameter(name, Kind(c_kind(c_type), name in nullable), c_type.split() == ["aclTensor*"]))
    return tuple(found)
