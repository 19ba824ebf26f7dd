"""The operators, a row each: what the package, its commands, benchmarks, documents and tests iterate.

What a family shares is in the files of its name: in `torch_aclnn/functional`, `nn`, `autograd` and `check/families`. An operator's page
is `docs/operators/<name>.md`. This module imports nothing of the package and no torch, so that ``torch-aclnn info`` can name the entry
points where torch cannot be imported.
"""

from dataclasses import dataclass
from typing import Literal

__all__ = ["BY_NAME", "OPERATORS", "Operator"]

Family = Literal["average_pooling", "adaptive_average_pooling", "padding", "max_unpooling", "batch_norm"]

# torch.nn.functional.pad's names of the paddings.
_MODES = {"replication": "replicate", "reflection": "reflect", "circular": "circular"}


@dataclass(frozen=True)
class Operator:
    """The names under which an operator is found.

    Attributes:
        name: of its page and in ``torch.ops.torch_aclnn``, there with `_backward`.
        entry_point: CANN's, without ``GetWorkspaceSize``.
        family: the operators that differ in nothing but the dimensions of a plane and, of paddings, the mode.
        dims: the dimensions of a plane; of batch norm 0.
        functions: in :mod:`torch_aclnn.functional`, whose gradient is the entry point. The first one is the operator's own.
        modules: in :mod:`torch_aclnn.nn`, each in place of the one of that name in :mod:`torch.nn`.
        aten_backward: torch's own operator for the gradient, in ``torch.ops.aten``, if torch_npu has one.

    """

    name: str
    entry_point: str
    family: Family
    dims: int
    functions: tuple[str, ...]
    modules: tuple[str, ...]
    aten_backward: str | None

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
        """Of a padding: its name among the modes of :func:`torch.nn.functional.pad`."""
        return _MODES.get(self.name.partition("_")[0])

    @property
    def backward(self) -> str:
        """The operator in ``torch.ops.torch_aclnn``."""
        return f"{self.name}_backward"

    @property
    def forward_class(self) -> str:
        """The ``torch.autograd.Function`` in :mod:`torch_aclnn.autograd`; that of the gradient ends with `Backward`."""
        return self.entry_point.removeprefix("aclnn").removesuffix("Backward")


def _plane_operator(family: Family, stem: str, dims: int, aten_backward: str | None = None, of_1d: bool = False) -> Operator:
    """Return a row. `of_1d`: the function and the module of 1-D planes are by this operator, too."""
    all_dims = (dims, 1) if of_1d else (dims,)
    functions = tuple(f"{stem}{d}d" for d in all_dims)
    classes = tuple("".join(part.capitalize() for part in function.split("_")) for function in functions)
    return Operator(functions[0], f"aclnn{classes[0]}Backward", family, dims, functions, classes, aten_backward)


OPERATORS: tuple[Operator, ...] = (
    _plane_operator("average_pooling", "avg_pool", 2, "avg_pool2d_backward", of_1d=True),
    _plane_operator("average_pooling", "avg_pool", 3, "avg_pool3d_backward"),
    _plane_operator("adaptive_average_pooling", "adaptive_avg_pool", 2, "_adaptive_avg_pool2d_backward", of_1d=True),
    _plane_operator("adaptive_average_pooling", "adaptive_avg_pool", 3, "_adaptive_avg_pool3d_backward"),
    _plane_operator("padding", "replication_pad", 1, "replication_pad1d_backward"),
    _plane_operator("padding", "replication_pad", 2, "replication_pad2d_backward"),
    _plane_operator("padding", "replication_pad", 3, "replication_pad3d_backward"),
    _plane_operator("padding", "reflection_pad", 1, "reflection_pad1d_backward"),
    _plane_operator("padding", "reflection_pad", 2, "reflection_pad2d_backward"),
    _plane_operator("padding", "reflection_pad", 3, "reflection_pad3d_backward"),
    _plane_operator("padding", "circular_pad", 2, of_1d=True),
    _plane_operator("padding", "circular_pad", 3),
    _plane_operator("max_unpooling", "max_unpool", 2, of_1d=True),
    _plane_operator("max_unpooling", "max_unpool", 3),
    Operator(
        name="batch_norm_elemt",
        entry_point="aclnnBatchNormElemtBackward",
        family="batch_norm",
        dims=0,
        functions=("batch_norm", "sync_batch_norm"),
        modules=("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm"),
        aten_backward="batch_norm_backward_elemt",
    ),
)

BY_NAME: dict[str, Operator] = {operator.name: operator for operator in OPERATORS}
