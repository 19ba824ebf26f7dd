"""The work of a launch: operations, bytes, and the unit that does it, as the records of csrc/vocabulary state it."""

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from torch_aclnn.timing.formulas import FORMULAS, INDEXED, VECTOR
from torch_aclnn.timing.tensors import Tensor, tensors_of

_STATED = Path(__file__).parents[1] / "toolkit" / "costs.json"  # written by the build
_RATES = {"FLOAT16": "float16", "FLOAT": "float32", "INT8": "int8", "INT4": "int8"}


@dataclass(frozen=True, slots=True)
class Cost:
    """The work of a launch.

    Attributes:
        unit: ``"cube"``, ``"attention"``, ``"attention_backward"``, ``"indexed"`` or ``"vector"``.
        work: floating-point operations of the cube, or elements that are found by an index each.
        bytes: read and written.
        rate: the key of the chip's ``cube_tflops``.
        by_default: whether nothing but the bytes is known.
        ends: the bytes of the first and of the last tensor that the formula names.

    """

    unit: str
    work: float
    bytes: float
    rate: str
    by_default: bool
    ends: tuple[float, float] = (0.0, 0.0)

    @property
    def flops(self) -> float:
        """Floating-point operations of the cube."""
        return 0.0 if self.unit in (INDEXED, VECTOR) else self.work


def cost_of(name: str, arguments: dict[str, Any]) -> Cost:
    """Return the work of a launch of the entry point, by the arguments of its first phase."""
    formula, names, in_place = _stated().get(name, ("", (), ()))
    tensors = {key: found for key, value in arguments.items() if (found := list(tensors_of(value)))}
    operands = [tensors.get(key, []) for key in names]
    ends = (_bytes(operands[0]), _bytes(operands[-1])) if operands else (0.0, 0.0)
    if formula == "moves":
        return Cost(VECTOR, 0.0, sum(map(_bytes, operands)), "float32", False, ends)
    moved = sum(map(_bytes, tensors.values())) + sum(_bytes(tensors.get(key, [])) for key in in_place)
    if formula in FORMULAS and operands[0]:
        unit, operations = FORMULAS[formula]
        return Cost(unit, operations(arguments, *operands), moved, _rate(operands[0][0].dtype), False, ends)
    return Cost(VECTOR, 0.0, moved, "float32", not _is_elementwise(tensors), ends)


@cache
def _stated() -> dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Return the formula of each entry point, the tensors that it names, and those that are read and written."""
    found = {}
    for name, (cost, in_place) in json.loads(_STATED.read_text()).items():
        formula, *operands = re.findall(r"\w+", cost) or [""]
        found[name] = (formula, tuple(operands), tuple(in_place))
    return found


def _bytes(tensors: list[Tensor]) -> float:
    return sum(tensor.bytes for tensor in tensors)


def _rate(dtype: str) -> str:
    if dtype.startswith(("FLOAT8", "HIFLOAT8")):
        return "float8"
    return "float4" if dtype.startswith("FLOAT4") else _RATES.get(dtype, "bfloat16")


def _is_elementwise(tensors: dict[str, list[Tensor]]) -> bool:
    """Return whether most tensors have one size, so that the bytes decide the launch's time."""
    sizes = [tensor.elements for found in tensors.values() for tensor in found]
    return not sizes or sizes.count(max(sizes)) * 2 >= len(sizes)
