"""A call as the generators describe it."""

import functools
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from arguments import TensorList
from sound_calls import OFFERED
from torch_aclnn.host.registry import EntryPoint

from support.tensors import Tensor

# The one left out writes beyond the shape of its tensor: its caller asks another function how much memory to give it.
ENTRY_POINTS = [entry_point for entry_point in OFFERED if entry_point.name != "aclnnTransMatmulWeight"]
WRITTEN = (
    *("Out", "OptOut", "InOut", "Packed", "PackableOut", "FewBitsOut", "OptPackableOut", "InBlocksOut", "AnyFormatOut"),
    *("TensorsOut", "OptTensorsOut", "TensorsInOut"),
)
# Inputs that are written although their kind does not say so: running statistics, and the noise that training makes.
WRITTEN_INPUTS = ("runningMean", "runningVar", "noise")


@functools.cache
def written(entry_point: EntryPoint) -> frozenset[str]:
    """Return the parameters whose tensors a call may write: outputs, or all where there is none."""
    names = {
        parameter.name
        for parameter in entry_point.parameters
        if parameter.kind in WRITTEN or parameter.name in WRITTEN_INPUTS or parameter.name.endswith(("Out", "Ref"))
    }
    if entry_point.name == "aclnnSyncBatchNormGatherStats":
        names |= {"mean", "variance"}
    return frozenset(names or {parameter.name for parameter in entry_point.parameters})


class Place(NamedTuple):
    """A tensor of a call: its parameter, and its place in a list."""

    parameter: str
    index: int


@dataclass(frozen=True)
class SameMemory:
    """A tensor in the memory of another parameter's."""

    parameter: str
    tensor: Tensor


@dataclass
class Call:
    """The arguments by parameter, and what each tensor is full of, again and again."""

    entry_point: EntryPoint
    arguments: dict[str, Any]
    contents: dict[Place, bytes] = field(default_factory=dict)

    @property
    def shares_memory(self) -> bool:
        return any(isinstance(value, SameMemory) for value in self.arguments.values())

    def tensors(self) -> dict[Place, Tensor]:
        """Return the tensors, those of lists too."""
        found = {}
        for name, value in self.arguments.items():
            members = value.members if isinstance(value, TensorList) else (value.tensor if isinstance(value, SameMemory) else value,)
            found.update({Place(name, i): member for i, member in enumerate(members) if isinstance(member, Tensor)})
        return found

    def replace(self, place: Place, tensor: Tensor) -> None:
        value = self.arguments[place.parameter]
        if isinstance(value, TensorList):
            members = list(value.members)
            members[place.index] = tensor
            self.arguments[place.parameter] = TensorList(tuple(members))
        elif isinstance(value, SameMemory):
            self.arguments[place.parameter] = SameMemory(value.parameter, tensor)
        else:
            self.arguments[place.parameter] = tensor

    def __str__(self) -> str:
        contents = {f"{place.parameter}[{place.index}]": content.hex() for place, content in self.contents.items()}
        arguments = ", ".join(f"{name}={getattr(value, 'value', value)!r}" for name, value in self.arguments.items())
        return f"{self.entry_point}({arguments}), contents {contents}"
