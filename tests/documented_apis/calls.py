"""How the APIs of torch_npu's list are called: PyTorch's samples of its operators, methods and modules."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db
from torch.utils._pytree import tree_map_only


@dataclass(frozen=True)
class Call:
    """A call with arguments on the CPU."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    named: dict[str, Any]

    def on(self, device: str) -> Any:
        """Call it with copies of the tensors, or of the module's state, on a device."""
        arguments, named = tree_map_only(torch.Tensor, lambda tensor: tensor.detach().clone().to(device), (self.arguments, self.named))
        if "device" in named:
            named["device"] = device
        function = self.function
        if isinstance(function, torch.nn.Module):
            function = function.to(device)
        with torch.no_grad():
            return function(*arguments, **named)

    def is_sound(self) -> bool:
        """Tell whether the CPU takes it, or only has no kernel of the data type."""
        try:
            self.on("cpu")
        except Exception as error:
            return "not implemented for" in str(error)
        return True


Maker = Callable[[torch.dtype], Iterator[Call]]


def makers() -> dict[str, list[Maker]]:
    """Return what makes the calls of an API with a data type, by the API's name: one of each of PyTorch's variants."""
    found: dict[str, list[Maker]] = {}
    for op in op_db:
        for form in (op, *op.aliases):
            method, inplace = form.method_variant, form.inplace_variant
            found.setdefault(f"torch.{form.name}", []).append(_of_operator(op, form.op))
            for variant in (method, inplace):
                if hasattr(variant, "__name__"):
                    found.setdefault(f"torch.Tensor.{variant.__name__}", []).append(_of_operator(op, variant, variant is inplace))
    for info in module_db:
        found.setdefault(f"torch.{info.name}", []).append(_of_module(info))
    return found


def _of_operator(op: Any, function: Callable[..., Any], inplace: bool = False) -> Maker:
    def make(dtype: torch.dtype) -> Iterator[Call]:
        if not op.supports_dtype(dtype, "cpu") and not op.supports_dtype(dtype, "cuda"):
            return
        # sample_inputs() makes the same, and seeds all devices before each, which takes more time than the calls.
        for sample in op.sample_inputs_func(op, "cpu", dtype, requires_grad=False):
            if not (inplace and sample.broadcasts_input):
                yield Call(function, (sample.input, *sample.args), sample.kwargs)

    return make


def _of_module(info: Any) -> Maker:
    def make(dtype: torch.dtype) -> Iterator[Call]:
        if dtype not in (*info.dtypes, torch.float16, torch.bfloat16):
            return
        for given in info.module_inputs_func(info, "cpu", dtype, requires_grad=False, training=False):
            made = given.constructor_input
            module = info.module_cls(*made.args, **made.kwargs).to(dtype).eval()
            yield Call(module, given.forward_input.args, given.forward_input.kwargs)

    return make
