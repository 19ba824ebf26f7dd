"""What the expression of a record computes, as Python: `at::` are torch's operators on the CPU, for tensors in float64 and int64.

Such a definition is no second opinion on what ATen computes, but on all that stands between a caller and ATen's kernel: which argument is
which, data types, layouts, shapes, where the result is rounded.
"""

import functools
import re
from collections.abc import Callable
from types import CodeType
from typing import Any

import torch

REPLACED = [(re.compile(pattern), by) for pattern, by in (
    (r"for_each\((\w+), \[&?\]\(at::Tensor& result, size_t(?: i)?\) \{ (.*); \}\)", r"[\2 for i, result in enumerate(\1)]"),
    (r"\[\]\(const auto&\.\.\. factors\) \{ return (at::\w+)\(factors\.\.\.\); \}", r"\1"),
    (r"\b(?:compared|of_results_type|repeated_or)<(at::\w+)>", r"\1"),
    (r"at::Scalar\((?:int64_t\{)?(\w+)\}?\)", r"float(\1)"),
    (r"at::k(Float|Double)\b", "torch.float64"),
    (r"at::k(Int|Long)\b", "torch.int64"),
    (r"at::kBool\b", "torch.bool"),
    (r"at::(\w+)", r"at.\1"),
    (r"std::nullopt", "None"),
    (r"Triangle::(\w+)", r'"\1"'),
    (r"std::optional|\.to(Double|Long)\(\)", ""),
    (r"\.scalar_type\(\)", ".dtype"),
    (r"\.sizes\(\)", ".shape"),
    (r"\btrue\b", "True"),
    (r"\bfalse\b", "False"),
    (r"&&", " and "),
    (r"\{(.*?)\}", r"[\1]"),
    (r"^(write\(\w+, )([^?]+) \? ([^:]+) : (.+)\)$", r"\1(\3) if (\2) else (\4))"),
)]  # fmt: skip


def compiled(expression: str) -> CodeType | None:
    """Return what the expression is in Python; None where it has no such form."""
    text = " ".join(expression.split())
    for pattern, by in REPLACED:
        text = pattern.sub(by, text)
    try:
        return compile(text.replace("; ", "\n"), expression, "exec")
    except SyntaxError:
        return None


class Operators:
    """torch.ops.aten as C++ sees it: results that are given stand before the other arguments, which are all positional."""

    def __init__(self) -> None:
        self._found: dict[tuple[Any, ...], Callable[..., Any]] = {}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return functools.partial(self._call, name)

    def _call(self, name: str, *arguments: Any) -> Any:
        key = (name, *map(type, arguments))
        if key in self._found:
            return self._found[key](arguments)
        error: Exception = AttributeError(name)
        packet = getattr(torch.ops.aten, name.removesuffix("_out"))
        for overload in (getattr(packet, each) for each in packet.overloads()):
            outs = [argument.name for argument in overload._schema.arguments if argument.is_out]
            if bool(outs) == name.endswith("_out"):
                called = functools.partial(self._called, overload, outs)
                try:
                    result = called(arguments)
                except (RuntimeError, TypeError, IndexError) as wrong:
                    error = wrong
                    continue
                self._found[key] = called
                return result
        raise error

    @staticmethod
    def _called(overload: Any, outs: list[str], given: tuple[Any, ...]) -> Any:
        types = {argument.name: str(argument.type) for argument in overload._schema.arguments}
        named = dict(zip(outs + [name for name in types if name not in outs], given, strict=False))
        # Python takes a number for a truth value, and the other way round; C++ has another overload for it.
        wrong = [name for name, v in named.items() if types[name] in ("bool", "int") and (types[name] == "bool") != isinstance(v, bool)]
        if wrong or len(named) < len(given):
            raise TypeError(f"{overload}: {given}")
        return overload(**named)


def write(out: torch.Tensor | None, result: Any) -> None:
    if out is not None and result is not None:
        out.copy_(result if result.shape == out.shape else result.reshape(out.shape))


def renormalized(x: torch.Tensor, p: float, dim: int, largest: float) -> torch.Tensor:
    """Return slices of which none has a norm above the largest."""
    norms = torch.linalg.vector_norm(x, p, [d for d in range(x.dim()) if d != dim % x.dim()], keepdim=True)
    return x * torch.where(norms > largest, largest / (norms + 1e-7), 1)


def write_each(results: Any, *outs: torch.Tensor | None) -> None:
    for result, out in zip(results, outs, strict=False):
        write(out, result)


def start_from(value: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    return out if value is out else out.copy_(value)


def at_positions(_: torch.Tensor, positions: torch.Tensor, *__: bool) -> tuple[torch.Tensor, ...]:
    return tuple(positions.long().movedim(-1, 0))


def type_of_sum(out: torch.Tensor) -> torch.dtype:
    return torch.int64 if out.dtype == torch.bool else out.dtype


def same(value: Any, *_: Any) -> Any:
    return value


at = Operators()
# The functions of csrc/engine/aten that records call.
NAMES: dict[str, Any] = {
    **dict.fromkeys(("upcast", "operand", "as_signed", "dense", "to_double", "both", "checked_repeats", "by_channels"), same),
    **{
        "torch": torch,
        "at": at,
        "write": write,
        "copy_elements": torch.Tensor.copy_,
        "write_each": write_each,
        "start_from": start_from,
        "at_positions": at_positions,
        "wrapped": torch.as_tensor,
    },
    **{"product_type": type_of_sum, "sum_type": type_of_sum, "norm_type": lambda _, out: out.dtype},
    "as_mask": lambda mask: mask.bool(),
    "positions_in": lambda _, __, positions: positions.long(),
    "scale": lambda number: number if number > 0 and number != 1 else None,
    "all_if_empty": lambda dims: dims or None,
    "dims_or_all": lambda dims: dims or [],
    "every_dim_if_empty": lambda dims, like: dims or list(range(like.dim())),
    "size_of": lambda tensor, dim: tensor.shape[dim] if tensor.dim() else 1,
    "flat": lambda index: index.reshape(-1).long(),
    "classes": lambda target: target.long(),
    "or_one": lambda number: 1 if number is None else number,
    "margin": lambda number: None if number < 0 else number,
    "divisor": lambda number: number or None,
    "add_scaled": lambda out, x, y, alpha: write(out, torch.add(torch.as_tensor(x), y, alpha=alpha)),
    "sub_scaled": lambda out, x, y, alpha: write(out, torch.sub(torch.as_tensor(x), y, alpha=alpha)),
    "interpolate": lambda out, x, y, weight: write(out, torch.lerp(x, y, weight)),
    "multiply_in_place": lambda self, other: write(self, self * other),
    "divide_in_place": lambda self, other: write(self, self / other),
    "extreme": lambda tensors, function: functools.reduce(function, tensors),
    "renormalized": renormalized,
    "swish": lambda x, beta: x * torch.sigmoid(beta * x),
    "swish_slope": lambda x, beta: torch.sigmoid(beta * x) * (1 + beta * x * (1 - torch.sigmoid(beta * x))),
    "gelu_gradient": lambda grad, x, mode: at.gelu_backward(grad, x, mode),
    "write_triangle": lambda out, x, k, part: write(out, x.tril(k) if part == "lower" else x.triu(k)),
    "write_product": lambda out, x, y, _, product: write(out, product(x, y)),
    "write_addmm": lambda out, x, a, b, beta, alpha, _: write(out, beta * x + alpha * (a @ b)),
    "turned": lambda matrix, turn: matrix.mT if turn else matrix,
    "put_at_positions": lambda out, positions, values: out.index_put_(at_positions(out, positions), values),
    "soft_margin": lambda x, y, reduction: at.soft_margin_loss(*torch.broadcast_tensors(x, y), reduction),
    "soft_margin_backward": lambda grad, *x: at.soft_margin_loss_backward(grad, *torch.broadcast_tensors(*x[:2]), x[2]),
}
