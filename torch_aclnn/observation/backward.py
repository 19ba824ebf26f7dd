"""Which line of the forward a backward has come to, by autograd's nodes."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch._C import _ImperativeEngine
from torch.autograd.graph import Node
from torch.autograd.variable import Variable
from torch.fx import traceback as fx_traceback
from torch_aclnn.observation.lines import current_line

_KEY = "traceback_"  # the key under which autograd keeps the stack of a node's forward
_ACCUMULATION = "AccumulateGrad"  # the node of a leaf, which has no forward


@dataclass(frozen=True)
class Mark:
    """The moment at which autograd came to a node.

    Attributes:
        position: how many allocations there had been.
        node: the node's name, as ``AddmmBackward0``.
        line: the line of its forward.

    """

    position: int
    node: str
    line: str


class Backwards:
    """Adds a mark for each node of all further backwards.

    Args:
        position: returns how many allocations there have been.
        begun: is called as a backward begins.

    """

    def __init__(self, position: Callable[[], int], begun: Callable[[], None]) -> None:
        self._position = position
        self._begun = begun
        self.marks: list[Mark] = []
        self.spans: list[tuple[int, int]] = []
        _keep_lines_of_the_forward()
        Variable._execution_engine = _engine_around(self._backward)

    def mark_at(self, position: int) -> Mark | None:
        """Return the node that made an allocation, or None if no backward did."""
        if not any(begin < position <= end for begin, end in self.spans):
            return None
        found = bisect_right(self.marks, position - 1, key=lambda mark: mark.position)
        return self.marks[found - 1] if found else None

    @contextmanager
    def _backward(self, tensors: Iterable[Any]) -> Iterator[None]:
        self._begun()
        for node in _nodes(tensors):
            self._watch(node)
        begin = self._position()
        try:
            yield
        finally:
            self.spans.append((begin, self._position()))

    def _watch(self, node: Node) -> None:
        name, line = node.name(), node_line(node)  # the hook must not keep the node alive

        def mark(_: object) -> None:
            self.marks.append(Mark(self._position(), name, line))

        node.register_prehook(mark)


def current_node() -> tuple[str, str] | None:
    """Return the name of the node that autograd is at on this thread, and the line of its forward."""
    node = torch._C._current_autograd_node()
    return (node.name(), node_line(node)) if node is not None else None


def node_line(node: Node) -> str:
    """Return the line of the program that made the node."""
    metadata: Any = node.metadata
    return next(reversed(metadata.get(_KEY, [])), "")


def _engine_around(backward: Callable[[Iterable[Any]], AbstractContextManager[None]]) -> _ImperativeEngine:
    """Return an autograd engine for all backwards from Python, also of programs that call the engine themselves."""

    class Engine(_ImperativeEngine):
        def run_backward(self, tensors: Any, *arguments: Any, **options: Any) -> Any:
            with backward(tensors):
                return super().run_backward(tensors, *arguments, **options)

    return Engine()


def _nodes(tensors: Iterable[Any]) -> list[Node]:
    found: dict[Node, None] = {}
    left = [tensor.grad_fn for tensor in tensors if isinstance(tensor, torch.Tensor)]
    while left:
        node = left.pop()
        if node is not None and node not in found:
            found[node] = None
            left += [further for further, _ in node.next_functions]
    return [node for node in found if not node.name().endswith(_ACCUMULATION)]


def _keep_lines_of_the_forward() -> None:
    # Autograd keeps a stack for each node while it detects anomalies. Formatting one line takes a tenth of the time of all.
    format_stack = fx_traceback.format_stack
    fx_traceback.format_stack = lambda: format_stack() if fx_traceback.should_preserve_node_meta else [current_line()]
    torch.autograd.set_detect_anomaly(True, check_nan=False)
