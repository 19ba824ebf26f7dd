"""What a step does that costs time on an NPU, with the line of the program: of the events of torch's profiler."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch._C._profiler import _EventType
from torch_aclnn.observation.lines import is_the_programs, name_of
from torch_aclnn.observation.report import Finding

READ, WAIT, UPLOAD, FLOAT64, STRIDED = "reads", "waits", "uploads", "float64", "strided"

_READ = "aten::_local_scalar_dense"
_BACKWARD = "autograd::engine::evaluate_function: "
# Operators whose results have a size that depends on values, for which the host waits.
_SIZED_BY_VALUES = ("aten::nonzero", "aten::masked_select", "aten::_unique2", "aten::unique_dim", "aten::unique_consecutive")
_WAITS = re.compile("<built-in (?:method|function) (?:_npu_)?(synchronize)\\b")
_COPIES = ("aten::copy_", "aten::_to_copy", "aten::to", "aten::item", "aten::cpu", "aten::contiguous", "aten::clone")


@dataclass(frozen=True)
class _Context:
    line: str = ""
    operator: str = ""
    sequence: int = -1  # of the node of a backward
    is_read: bool = False  # within a read, as that of what a tensor subclass wraps is


def findings(tree: Iterable[Any]) -> list[Finding]:
    """Return what the step did, equal findings as one, by kind and those that are most or largest first."""
    forward: dict[int, str] = {}
    sums: dict[tuple[str, str, str, str], Finding] = {}
    # All lines of the forward are known only at the end, and there may be millions of events, which are not kept.
    causes = [(found, context) for event, name, context in _walk(tree, forward) for found in _of(event, name, context)]
    for found, context in causes:
        line = context.line or forward.get(context.sequence, "")
        if not context.line and line and context.sequence >= 0:
            found = replace(found, note=", ".join(filter(None, ("in its backward", found.note))))
        key = found.kind, found.what, line, found.note
        before = sums.get(key, Finding(found.kind, found.what, line, count=0, note=found.note))
        sums[key] = replace(before, bytes=before.bytes + found.bytes, count=before.count + found.count)
    return sorted(sums.values(), key=lambda one: (one.kind, -one.count, -one.bytes, one.line))


def _walk(tree: Iterable[Any], forward: dict[int, str]) -> Iterator[tuple[Any, str, _Context]]:
    """Yield the events with their names and what is around each, and learn the lines of the forward by sequence number."""
    left = [(event, _Context()) for event in reversed(list(tree))]
    while left:
        event, context = left.pop()
        name, inner = _text(event, "name"), context
        if event.tag in (_EventType.PyCall, _EventType.PyCCall):
            caller = event.extra_fields.caller
            file_name = _text(caller, "file_name")
            if is_the_programs(file_name):
                inner = replace(context, line=f"{name_of(file_name)}:{caller.line_number}", operator="")
        elif event.tag == _EventType.TorchOp:
            number = event.extra_fields.sequence_number
            if name.startswith(_BACKWARD):
                inner = _Context(sequence=number)
            elif number >= 0 and context.sequence < 0:
                forward[number] = context.line
            if not inner.operator and not name.startswith(_BACKWARD):
                inner = replace(inner, operator=name)
        yield event, name, inner
        if name == _READ:
            inner = replace(inner, is_read=True)
        left += [(child, inner) for child in reversed(event.children)]


def _text(named: Any, attribute: str) -> str:
    try:
        return str(getattr(named, attribute))
    except UnicodeDecodeError:  # some functions and their callers have names that are no text, as those that torch.save calls
        return "<unknown>"


def _of(event: Any, name: str, context: _Context) -> Iterator[Finding]:
    if event.tag == _EventType.PyCCall:
        waits = _WAITS.match(name)
        if waits:
            yield Finding(WAIT, waits[1], "")
    elif event.tag == _EventType.TorchOp:
        inputs = [one for one in event.extra_fields.inputs if hasattr(one, "sizes")]
        if inputs:
            yield from _of_operator(name, inputs, event.extra_fields.inputs, context)


def _of_operator(name: str, tensors: list[Any], arguments: list[Any], context: _Context) -> Iterator[Finding]:
    operator = context.operator if context.operator not in _COPIES else ""
    first = tensors[0]
    if name == _READ and _on_npu(first) and not context.is_read:
        yield Finding(READ, operator or "aten::item", "", _bytes(first), note=_kind_of(first))
    elif name in _SIZED_BY_VALUES and _on_npu(first):
        yield Finding(READ, name, "", note="sizes depend on values")
    elif name == "aten::copy_" and len(tensors) > 1:
        target, source = tensors[:2]
        asynchronous = len(arguments) > 2 and arguments[2] is True
        if _on_npu(source) and not _on_npu(target):
            notes = [_kind_of(source), "non_blocking" if asynchronous else ""]
            yield Finding(READ, operator or "copy to the CPU", "", _bytes(source), note=", ".join(filter(None, notes)))
        elif _on_npu(target) and not _on_npu(source):
            yield Finding(UPLOAD, operator or "copy to the NPU", "", _bytes(target), note="non_blocking" if asynchronous else "")
        elif _on_npu(target) and target.dtype != source.dtype and torch.float64 in (target.dtype, source.dtype):
            yield Finding(FLOAT64, f"{_dtype(source)} to {_dtype(target)}", "", _bytes(target))
        elif _on_npu(target) and target.dtype == source.dtype and not (_is_contiguous(target) and _is_contiguous(source)):
            yield Finding(STRIDED, operator or "copy", "", _bytes(target))


def _on_npu(tensor: Any) -> bool:
    return tensor.device.type == "npu"


def _bytes(tensor: Any) -> int:
    count = 1
    for size in tensor.sizes:
        count *= size
    return count * tensor.dtype.itemsize


def _is_contiguous(tensor: Any) -> bool:
    step = 1
    for size, stride in zip(reversed(tensor.sizes), reversed(tensor.strides), strict=True):
        if size != 1 and stride != step:
            return False
        step *= size
    return True


def _kind_of(tensor: Any) -> str:
    """Return a remark where the values may decide a size or a branch."""
    return "" if tensor.dtype.is_floating_point or tensor.dtype.is_complex else "integers"


def _dtype(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")
