"""The operations of a step that cost time on an NPU, each with the line of the program."""

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import torch_npu
from torch_aclnn.loading.engine import ATEN_ADAPTERS
from torch_aclnn.loading.paths import libdir
from torch_aclnn.observation.backward import current_node
from torch_aclnn.observation.lines import current_line
from torch_aclnn.observation.report import Finding

_OBSERVER = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p)
# The functions that wait for the device, a stream or an event.
_WAITS = ((torch_npu._C, "_npu_synchronize"), (torch_npu.npu.Stream, "synchronize"), (torch_npu.npu.Event, "synchronize"))


class ObservedStep:
    """Observes, from :meth:`start` to :meth:`stop`, torch's operators that copy or read, which the engine reports, and waits.

    Attributes:
        problem: why there are no findings, or "".

    """

    def __init__(self) -> None:
        self.problem = "the run ended before the last step"
        self._sums: dict[tuple[str, str, str, str], list[int]] = {}
        self._observe = ctypes.CDLL(str(libdir() / ATEN_ADAPTERS)).torchAclnnHostObserveOperators
        self._observe.argtypes, self._observe.restype = [_OBSERVER], None
        self._told = _OBSERVER(self._operator)  # a reference, because the engine calls it while it observes
        self._waits: list[tuple[Any, str, Callable[..., Any]]] = []

    @property
    def findings(self) -> list[Finding]:
        """The findings by kind, the most frequent and largest first; equal ones are one."""
        found = [Finding(kind, what, line, size, count, note) for (kind, what, line, note), (size, count) in self._sums.items()]
        return sorted(found, key=lambda one: (one.kind, -one.count, -one.bytes, one.line))

    def start(self) -> None:
        """Begin to observe."""
        self.problem = ""
        for owner, name in _WAITS:
            function = getattr(owner, name)
            self._waits.append((owner, name, function))
            setattr(owner, name, self._observed_wait(function))
        self._observe(self._told)

    def stop(self) -> None:
        """Observe no more."""
        self._observe(_OBSERVER())
        while self._waits:
            setattr(*self._waits.pop())

    def _observed_wait(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wait(*arguments: Any, **options: Any) -> Any:
            self._add("waits", "synchronize", 0, "")
            return function(*arguments, **options)

        return wait

    def _operator(self, kind: bytes, what: bytes, size: int, note: bytes) -> None:
        self._add(kind.decode(), what.decode(), size, note.decode())

    def _add(self, kind: str, what: str, size: int, note: str) -> None:
        line = current_line()
        if not line and (node := current_node()) is not None and node[1]:
            line, note = node[1], ", ".join(filter(None, ("in its backward", note)))
        sums = self._sums.setdefault((kind, what, line, note), [0, 0])
        sums[0] += size
        sums[1] += 1
