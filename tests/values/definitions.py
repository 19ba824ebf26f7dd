"""The definition of each entry point that has one."""

import dis
import functools
import re
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

import torch
import torch.nn.functional as F
from definitions import turned

from support.vocabulary import RECORDS

from . import attention
from .gradients import gradient, write_gradients, write_loss_gradient
from .translated import NAMES, at, compiled

NOT_PYTHON = re.compile(r"\.(store|write|values|reduce\w*)\(")


def cumulated(x: torch.Tensor, dim: int, exclusive: bool, reverse: bool) -> torch.Tensor:
    x = x.reshape(1) if x.dim() == 0 else x
    x = x.flip(dim) if reverse else x
    sums = x.cumsum(dim)
    if exclusive and x.shape[dim]:
        sums = torch.cat((torch.zeros_like(sums.narrow(dim, 0, 1)), sums.narrow(dim, 0, x.shape[dim] - 1)), dim)
    return sums.flip(dim) if reverse else sums


def along(numbers: torch.Tensor, axis: int, rank: int) -> torch.Tensor:
    return numbers.view([-1 if d == axis % rank else 1 for d in range(rank)])


def affine(x: torch.Tensor, weight: torch.Tensor | None, bias: torch.Tensor | None) -> torch.Tensor:
    x = x if weight is None else x * along(weight, 1, x.dim())
    return x if bias is None else x + along(bias, 1, x.dim())


def rms(x: torch.Tensor, gamma: torch.Tensor, epsilon: float) -> tuple[torch.Tensor, torch.Tensor]:
    rstd = (x.square().mean(tuple(range(-gamma.dim(), 0)) or None, True) + epsilon).rsqrt()
    return x * rstd * gamma, rstd


def group_norm(x: torch.Tensor, gamma: Any, beta: Any, groups: int, epsilon: float) -> Any:
    size = x[0, 0].numel() if x.shape[0] else 1
    return torch.native_group_norm(x, gamma, beta, x.shape[0], x.shape[1], size, groups, epsilon)


# What definitions.txt calls beside the names of records.
FUNCTIONS: dict[str, Any] = {
    **NAMES,
    **{each.__name__: each for each in (cumulated, along, affine, rms, group_norm, gradient, write_gradients, write_loss_gradient)},
    **{"F": F, "turned": turned},
    "bits": lambda mask, like: (mask.reshape(-1, 1) >> torch.arange(8) & 1).reshape(-1)[: like.numel()].view(like.shape),
    "half": lambda x, dim, which: x.chunk(2, dim)[which],
    "positions": lambda indices: tuple(index if index.dtype == torch.bool else index.long() for index in indices),
    "with_logits": lambda x, y, *others: at.binary_cross_entropy_with_logits(*torch.broadcast_tensors(x, y), *others),
    "scattered": lambda x, dim, i, y, mode: torch.scatter(x, dim, i.long(), y, **({} if mode is None else {"reduce": mode})),
    "others": lambda x: [d for d in range(x.dim()) if d != 1],
    "channels": lambda numbers, x: along(numbers.reshape(-1), 1, x.dim()),
    "total": lambda *terms: functools.reduce(torch.add, [term for term in terms if term is not None]),
    "row": lambda x: (*x.shape[:-2], 1, x.shape[-1]),
    "wanted": lambda mask, *outs: [out if asked else None for out, asked in zip(outs, mask, strict=True)],
}
TABLE = {
    f"aclnn{name}": compile(text.strip().replace("; ", "\n"), name, "exec")
    for line in (Path(__file__).parent / "definitions.txt").read_text().splitlines()
    for name, _, text in [line.partition(": ")]
}


@functools.cache
def definition(name: str) -> Callable[[dict[str, Any]], None] | None:
    """Return what writes the results of an entry point, of its arguments by name; those of other versions are None."""
    record = RECORDS[name]
    if attention.NAMES.fullmatch(name):
        return attention.define
    own = TABLE.get(name) or TABLE.get(f"aclnn{record.struct}")
    if own is not None:
        absent = dict.fromkeys(p.name for r in RECORDS.values() if r.struct == record.struct for p in r.parameters)
        return lambda values: exec(own, {**FUNCTIONS, **absent, **values})
    begin = f"start_from({record.starts_from}, out); " if record.starts_from else ""
    code = compiled(begin + record.does) if record.does and not NOT_PYTHON.search(record.does) else None
    if code is None or not _names(code) <= {"enumerate", "result", "i", "float", *NAMES, *(p.name for p in record.parameters)}:
        return None
    return lambda values: exec(code, {**NAMES, **values})


def _names(code: CodeType) -> set[str]:
    # The variables that the code reads, those of comprehensions too.
    found = {i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_DEREF")}
    return found.union(*(_names(const) for const in code.co_consts if isinstance(const, CodeType)))
