"""The operators, a row each: what the package, its commands, benchmarks, documents and tests iterate.

What a family shares is in the files of its name: in `torch_aclnn/functional`, `nn`, `autograd` and `check/families`, and on its page,
`docs/operators/<family>.md`. This module imports nothing of the package and no torch, so that ``torch-aclnn info`` can name the entry
points where torch cannot be imported.
"""

from dataclasses import dataclass, field
from typing import Literal

__all__ = ["BY_NAME", "OPERATORS", "Listed", "Operator"]

Family = Literal["average_pooling", "adaptive_average_pooling", "padding", "max_unpooling", "batch_norm"]

# torch.nn.functional.pad's names of the paddings.
_MODES = {"replication": "replicate", "reflection": "reflect", "circular": "circular"}


@dataclass(frozen=True)
class Listed:
    """Data types of an operator's gradient that published pages list.

    Attributes:
        dtypes: their names in torch.
        since: for each product whose page lists them, the CANN version of the earliest page found that does. The pages are those of
            hiascend.com, from CANN 8.0.RC1 to 8.5.0.alpha002.

    """

    dtypes: tuple[str, ...]
    since: dict[str, str] = field(hash=False)


@dataclass(frozen=True)
class Operator:
    """The names under which an operator is found.

    Attributes:
        name: in ``torch.ops.torch_aclnn``, there with `_backward`.
        entry_point: CANN's, without ``GetWorkspaceSize``.
        family: the operators that differ in nothing but the dimensions of a plane and, of paddings, the mode.
        dims: the dimensions of a plane; of batch norm 0.
        functions: in :mod:`torch_aclnn.functional`, whose gradient is the entry point. The first one is the operator's own.
        modules: in :mod:`torch_aclnn.nn`, each in place of the one of that name in :mod:`torch.nn`.
        aten_backward: torch's own operator for the gradient, in ``torch.ops.aten``, if torch_npu has one.
        listed: the data types that pages list; `csrc/contract/operators.h` has those of the newest for the engine.

    """

    name: str
    entry_point: str
    family: Family
    dims: int
    functions: tuple[str, ...]
    modules: tuple[str, ...]
    aten_backward: str | None
    listed: tuple[Listed, ...]

    @property
    def function(self) -> str:
        """The function in :mod:`torch_aclnn.functional` that is the operator's own."""
        return self.functions[0]

    @property
    def torch_function(self) -> str:
        """The function in :mod:`torch.nn.functional` which :func:`torch_aclnn.patch` switches to the operator's own."""
        return "pad" if self.family == "padding" else self.function

    @property
    def mode(self) -> str | None:
        """A padding's name among the modes of :func:`torch.nn.functional.pad`; None for other operators."""
        return _MODES.get(self.name.partition("_")[0])

    @property
    def backward(self) -> str:
        """The operator in ``torch.ops.torch_aclnn``."""
        return f"{self.name}_backward"

    @property
    def forward_class(self) -> str:
        """The ``torch.autograd.Function`` in :mod:`torch_aclnn.autograd`; that of the gradient ends with `Backward`."""
        return self.entry_point.removeprefix("aclnn").removesuffix("Backward")


# For each function on planes, by its name without the dimensions: its family, and the name of ATen's backward operator
# without its dimensions where ATen has one.
_STEMS: dict[str, tuple[Family, str | None]] = {
    "avg_pool": ("average_pooling", "avg_pool"),
    "adaptive_avg_pool": ("adaptive_average_pooling", "_adaptive_avg_pool"),
    "replication_pad": ("padding", "replication_pad"),
    "reflection_pad": ("padding", "reflection_pad"),
    "circular_pad": ("padding", None),
    "max_unpool": ("max_unpooling", None),
}


def _planes(stem: str, dims: int, *listed: Listed, of_1d: bool = False) -> Operator:
    """Return a row. `of_1d`: the function and the module of 1-D planes are by this operator, too."""
    family, aten = _STEMS[stem]
    all_dims = (dims, 1) if of_1d else (dims,)
    functions = tuple(f"{stem}{d}d" for d in all_dims)
    classes = tuple("".join(part.capitalize() for part in function.split("_")) for function in functions)
    aten_backward = None if aten is None else f"{aten}{dims}d_backward"
    return Operator(functions[0], f"aclnn{classes[0]}Backward", family, dims, functions, classes, aten_backward, listed)


_FLOATS, _BFLOAT16 = ("float32", "float16"), ("bfloat16",)
_WIDE = (*_FLOATS, "float64", "complex64", "complex128")
_MOVED = (*_FLOATS, "int8", "uint8", "int16", "int32", "int64")

_8_0_RC1 = {"inference": "8.0.RC1", "A2": "8.0.RC1"}
_8_0_RC3 = {"inference": "8.0.RC3", "A2": "8.0.RC3", "A3": "8.1.RC1"}
_ON_A2 = {"A2": "8.0.RC3", "A3": "8.1.RC1"}

OPERATORS: tuple[Operator, ...] = (
    _planes("avg_pool", 2, Listed(_FLOATS, _8_0_RC3), Listed(_BFLOAT16, _ON_A2), of_1d=True),
    _planes("avg_pool", 3, Listed(_FLOATS + _BFLOAT16, _ON_A2)),
    _planes("adaptive_avg_pool", 2, Listed(_FLOATS, {**_8_0_RC1, "A3": "8.1.RC1"}), Listed(_BFLOAT16, _ON_A2), of_1d=True),
    _planes("adaptive_avg_pool", 3, Listed(_FLOATS + _BFLOAT16, _ON_A2)),
    _planes("replication_pad", 1, Listed(_WIDE, {**_8_0_RC1, "A3": "8.2.RC1.alpha003"})),
    _planes("replication_pad", 2, Listed(_WIDE, _8_0_RC3)),
    _planes("replication_pad", 3, Listed(_WIDE, {"A2": "8.0.RC3", "A3": "8.3.RC1"}), Listed(_BFLOAT16, {"A2": "8.0.0", "A3": "8.3.RC1"})),
    _planes("reflection_pad", 1, Listed(_WIDE, {**_8_0_RC1, "A3": "8.1.RC1"}), Listed(_BFLOAT16, {"A2": "8.3.RC1", "A3": "8.3.RC1"})),
    _planes("reflection_pad", 2, Listed(_WIDE, _8_0_RC3)),
    _planes("reflection_pad", 3, Listed(_WIDE, _ON_A2)),
    _planes("circular_pad", 2, Listed(_FLOATS + _BFLOAT16, {"A2": "8.0.0", "A3": "8.1.RC1"}), of_1d=True),
    _planes("circular_pad", 3, Listed(_FLOATS + _BFLOAT16, {"A2": "8.0.0", "A3": "8.1.RC1"})),
    _planes("max_unpool", 2, Listed(_MOVED, {"A2": "8.0.RC1", "A3": "8.3.RC1.alpha001"}), of_1d=True),
    _planes("max_unpool", 3, Listed((*_MOVED, "float64"), {"A2": "8.0.RC1", "A3": "8.2.RC1"})),
    Operator(
        name="batch_norm_elemt",
        entry_point="aclnnBatchNormElemtBackward",
        family="batch_norm",
        dims=0,
        functions=("batch_norm", "sync_batch_norm"),
        modules=("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"),
        aten_backward="batch_norm_backward_elemt",
        listed=(Listed(_FLOATS, {"A2": "8.0.RC1", "A3": "8.1.RC1"}), Listed(_BFLOAT16, {"A2": "8.2.RC1", "A3": "8.2.RC1"})),
    ),
)

BY_NAME: dict[str, Operator] = {operator.name: operator for operator in OPERATORS}
