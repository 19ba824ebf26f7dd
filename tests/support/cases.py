"""What the tests of the Python interface know of one operator: its function, its operator in torch.ops, and its limits."""

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from support.entry_point import EntryPoint
from support.lazy import torch, torch_aclnn

if TYPE_CHECKING:
    from torch import Tensor, nn

Size = tuple[int, ...]


def backward(name: str) -> Any:
    """Return an operator in torch.ops, which there may be none of before torch_aclnn is imported."""
    return getattr(torch.ops.torch_aclnn, f"{name}_backward")


def no_tensors(size: Size) -> "tuple[Tensor, ...]":
    return ()


@dataclass(frozen=True)
class FunctionCase:
    """A function with fixed attributes; it takes one differentiable input and maybe other tensors.

    Attributes:
        name: in torch_aclnn.functional.
        call: calls the function of that name in the module that it is given, torch_aclnn.functional or torch.nn.functional.
        sizes: of the input; the last has no two equal ones.
        others: makes the other tensors for a size of the input.
        torch_call: calls torch's own function where its name or parameters differ.
        saved: the positions of the inputs that are saved for the gradient.
        definition: the function in differentiable operations, where torch's own third derivative is not that of its definition.
        compiles_forward_mode: whether torch.compile can trace forward mode over torch's own function.
        recorded_as: names in ATen, one of which torch.jit.trace records.
        symbolic: like `call`, with attributes that depend on the input's size.
        half_on_cpu: whether torch's own forward takes half types on cpu.

    """

    name: str
    call: "Callable[..., Tensor]"
    sizes: tuple[Size, ...]
    others: "Callable[[Size], tuple[Tensor, ...]]" = no_tensors
    torch_call: "Callable[..., Tensor] | None" = None
    saved: tuple[int, ...] = ()
    definition: "Callable[..., Tensor] | None" = None
    compiles_forward_mode: bool = True
    recorded_as: tuple[str, ...] = ()
    symbolic: "tuple[Callable[..., Tensor], ...]" = ()
    half_on_cpu: bool = True

    @property
    def operator(self) -> str:
        """The name of the function's operator."""
        return next(operator.name for operator in torch_aclnn._operators.OPERATORS if operator.function == self.name)

    # The functions are made once and take the modules themselves, so that torch.compile can trace them.
    @functools.cached_property
    def ours(self) -> "Callable[..., Tensor]":
        call, functional = self.call, torch_aclnn.functional
        return lambda *inputs: call(functional, *inputs)

    @functools.cached_property
    def theirs(self) -> "Callable[..., Tensor]":
        call, functional = self.torch_call or self.call, torch.nn.functional
        return lambda *inputs: call(functional, *inputs)

    def inputs(self, device: str, dtype: Any = None, size: Size | None = None) -> "tuple[Tensor, ...]":
        """Return the input, of the case's first size and float32 unless others are given, and the other tensors."""
        size = size or self.sizes[0]
        return tuple(t.to(device) for t in (torch.randn(size).to(dtype or torch.float32), *self.others(size)))


@dataclass(frozen=True)
class StridesCase:
    """The operator and torch's own for the same gradient."""

    grad_size: Size
    size: Size  # the input's size
    ours: "Callable[[Tensor, Tensor], Tensor]"  # takes the output's gradient and the input
    theirs: "Callable[[Tensor, Tensor], Tensor]"
    follows_channels_last: bool = False  # on cpu, as torch's own does


@dataclass(frozen=True)
class OutCase:
    """A call of the overload with an output."""

    call: "Callable[[Tensor, Tensor], object]"  # takes the output's gradient and the output
    grad: "Tensor"
    size: Size  # the output's size


@dataclass(frozen=True)
class OperatorCase:
    """An operator in torch.ops.torch_aclnn.

    Attributes:
        name: without _backward.
        draw_arguments: draws arguments by hypothesis that mostly fit, for comparing the meta kernel with the others.
        bad_arguments: by name, a call on a device, and words of the error.
        out: makes a call that writes into an output on a device.
        strides: makes the pair whose results' strides are to be equal, where torch_npu has an operator of its own.

    """

    name: str
    draw_arguments: Callable[[Callable[[Any], Any]], tuple[Any, ...]]
    out: Callable[[str], OutCase]
    bad_arguments: Mapping[str, tuple[Callable[[str], object], str]]
    strides: StridesCase | None = None

    @property
    def op(self) -> Any:
        return backward(self.name)


def linear_out(name: str, grad_size: Size, size: Size, *attributes: Any) -> Callable[[str], OutCase]:
    """Return `OperatorCase.out` of an operator that takes the output's gradient, the input's size and attributes."""

    def make(device: str) -> OutCase:
        call = lambda grad, out: backward(name).out(grad, size, *attributes, out=out)
        return OutCase(call, torch.ones(grad_size, device=device), size)

    return make


@dataclass(frozen=True)
class Limits:
    """What torch takes and the operator's document does not; the calls take torch_aclnn.functional and an input of size (1, 1, 4, ..., 4).

    Attributes:
        node: the name of our node in autograd's graph.
        within: calls whose results have our node.
        torch_node: the name of torch's own node.
        beyond: calls whose results have torch's node.
        torch_npu_refuses: the names of calls whose forward torch_npu's own operator refuses.
        modules: makes torch's modules with arguments beyond the limits.
        numpy_modules: makes modules with integers of numpy, and the same with plain ones.

    """

    node: str
    within: "Mapping[str, Callable[..., Tensor]]"
    torch_node: str = ""
    beyond: "Mapping[str, Callable[..., Tensor]]" = field(default_factory=dict)
    torch_npu_refuses: tuple[str, ...] = ()
    modules: "Callable[[], tuple[nn.Module, ...]]" = tuple
    numpy_modules: "Mapping[str, Callable[[], tuple[nn.Module, nn.Module]]]" = field(default_factory=dict)


@dataclass(frozen=True)
class Call:
    """A call of an operator that takes the output's gradient, the input's size and attributes."""

    size: Size
    grad_size: Size
    attributes: tuple[Any, ...] = ()


@dataclass(frozen=True)
class PlaneCase:
    """An operator that is linear in the output's gradient, whose results are compared with its definition.

    Attributes:
        dtypes: the names of those that it takes on npu.
        calls: makes calls, each for something that a kernel may treat apart.
        draw_call: draws one.
        module: the arguments of a module.

    """

    dtypes: tuple[str, ...]
    calls: Callable[[], Iterable[Call]]
    draw_call: Callable[[Callable[[Any], Any]], Call]
    module: tuple[Any, ...]


@dataclass(frozen=True, repr=False)
class Row:
    """What the tests know of one operator.

    Attributes:
        dims: the number of dimensions of a plane of its inputs.
        entry_point: what the tests of the C interface use.
        function: what the tests of torch_aclnn.functional use.
        operator: what the tests of torch.ops.torch_aclnn use.
        limits: calls at and beyond the limits, which torch's own function takes.
        gradient: the definition of the gradient, on lists and shapes.
        tensor_gradient: the same definition, on tensors.
        planes: what the tests of poolings and paddings use, whose gradients are linear.

    """

    dims: int
    entry_point: EntryPoint
    function: FunctionCase
    operator: OperatorCase
    limits: Limits
    gradient: Callable[..., list[Any]]
    tensor_gradient: "Callable[..., Tensor]"
    planes: PlaneCase | None = None

    def __repr__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        return self.operator.name
