"""The operators, a row each: what the package, its commands, benchmarks, documents and tests iterate.

An operator's files have its name in every directory: `avg_pool2d.py` in `torch_aclnn/functional`, `nn`, `autograd` and
`check/operators` and in `benchmarks/operators`, and `avg_pool2d.md` in `docs/operators`. This module imports nothing of the package and no
torch, so that ``torch-aclnn info`` can name the entry points where torch cannot be imported.
"""

from dataclasses import dataclass

__all__ = ["BY_NAME", "OPERATORS", "Operator"]


@dataclass(frozen=True)
class Operator:
    """The names under which an operator is found.

    Attributes:
        name: its files in every directory.
        entry_point: CANN's, without ``GetWorkspaceSize``.
        function: in :mod:`torch_aclnn.functional`.
        further_functions: others there whose gradient is the entry point.
        modules: in :mod:`torch_aclnn.nn`, each in place of the one of that name in :mod:`torch.nn`.
        torch_function: in :mod:`torch.nn.functional`, which :func:`torch_aclnn.patch` switches to the function of that name in the
            operator's file in `torch_aclnn/functional`.
        aten_backward: torch's own operator for the gradient, in ``torch.ops.aten``, if torch_npu has one.

    """

    name: str
    entry_point: str
    function: str
    modules: tuple[str, ...]
    torch_function: str
    aten_backward: str | None
    further_functions: tuple[str, ...] = ()

    @property
    def functions(self) -> tuple[str, ...]:
        """All of its functions in :mod:`torch_aclnn.functional`."""
        return self.function, *self.further_functions

    @property
    def backward(self) -> str:
        """The operator in ``torch.ops.torch_aclnn``, which is also the name of its C++ files."""
        return f"{self.name}_backward"


OPERATORS: tuple[Operator, ...] = (
    Operator(
        name="avg_pool2d",
        entry_point="aclnnAvgPool2dBackward",
        function="avg_pool2d",
        modules=("AvgPool2d",),
        torch_function="avg_pool2d",
        aten_backward="avg_pool2d_backward",
    ),
    Operator(
        name="adaptive_avg_pool2d",
        entry_point="aclnnAdaptiveAvgPool2dBackward",
        function="adaptive_avg_pool2d",
        modules=("AdaptiveAvgPool2d",),
        torch_function="adaptive_avg_pool2d",
        aten_backward="_adaptive_avg_pool2d_backward",
    ),
    Operator(
        name="adaptive_avg_pool3d",
        entry_point="aclnnAdaptiveAvgPool3dBackward",
        function="adaptive_avg_pool3d",
        modules=("AdaptiveAvgPool3d",),
        torch_function="adaptive_avg_pool3d",
        aten_backward="_adaptive_avg_pool3d_backward",
    ),
    Operator(
        name="replication_pad2d",
        entry_point="aclnnReplicationPad2dBackward",
        function="replication_pad2d",
        modules=("ReplicationPad2d",),
        torch_function="pad",
        aten_backward="replication_pad2d_backward",
    ),
    Operator(
        name="reflection_pad2d",
        entry_point="aclnnReflectionPad2dBackward",
        function="reflection_pad2d",
        modules=("ReflectionPad2d",),
        torch_function="pad",
        aten_backward="reflection_pad2d_backward",
    ),
    Operator(
        name="max_unpool3d",
        entry_point="aclnnMaxUnpool3dBackward",
        function="max_unpool3d",
        modules=("MaxUnpool3d",),
        torch_function="max_unpool3d",
        aten_backward=None,
    ),
    Operator(
        name="batch_norm_elemt",
        entry_point="aclnnBatchNormElemtBackward",
        function="batch_norm",
        modules=("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm"),
        torch_function="batch_norm",
        aten_backward="batch_norm_backward_elemt",
        further_functions=("sync_batch_norm",),
    ),
)

BY_NAME: dict[str, Operator] = {operator.name: operator for operator in OPERATORS}
