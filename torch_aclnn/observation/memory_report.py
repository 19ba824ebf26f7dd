"""The part of the report about memory: the peaks, and for the largest what was in use and where the program was."""

from typing import Any

from torch_aclnn.observation.backward import Backwards
from torch_aclnn.observation.categories import Labels, by_bytes, category_of
from torch_aclnn.observation.history import Block, History
from torch_aclnn.observation.lines import line_of
from torch_aclnn.observation.report import Memory, Moment, StepPeak

Span = tuple[int, int]

_LINES = 20  # further lines are reported as one sum


def report(
    history: History, labels: Labels, backwards: Backwards, optimizers: list[Span], ends_of_steps: list[int], **counted: Any
) -> Memory:
    """Return what the report says of memory.

    Args:
        history: the allocator's.
        labels: the categories of the tensors' memory.
        backwards: the backwards of the program.
        optimizers: the first and the last allocation of each optimizer's step.
        ends_of_steps: how many allocations there had been at the end of each step.
        counted: the figures that do not follow from the history.

    """
    reader = _Reader(history, labels, backwards, optimizers, ends_of_steps)
    position = history.peak()
    requested, failed = history.largest(history.allocated), history.failed[0][0] if history.failed else 0
    return Memory(
        requested=requested,
        reserved=history.largest(history.reserved),
        waiting=history.largest([a + w for a, w in zip(history.allocated, history.waiting, strict=True)]) - requested,
        steps=[
            StepPeak(history.largest(history.allocated, *span), history.largest(history.reserved, *span)) for span in _spans(ends_of_steps)
        ],
        peak=reader.moment(position) if position else None,
        at_the_first_failure=reader.moment(failed) if failed else None,
        **counted,
    )


class _Reader:
    def __init__(self, history: History, labels: Labels, backwards: Backwards, optimizers: list[Span], ends_of_steps: list[int]) -> None:
        self._history = history
        self._labels = labels
        self._backwards = backwards
        self._optimizers = optimizers
        self._ends = ends_of_steps

    def moment(self, position: int) -> Moment:
        """Return what was in use after so many allocations, and where the program was."""
        alive = self._history.alive(position)
        categories = [(self._category(block), block) for block in alive]
        others = by_bytes((self._line(block), block.size) for category, block in categories if self._labels.of(block) is None)
        block = self._history.blocks[position - 1]
        phase, node, line = self._place(block)
        return Moment(
            requested=self._history.allocated[position - 1],
            reserved=self._history.reserved[position - 1],
            step=1 + sum(end < position for end in self._ends),
            phase=phase,
            node=node,
            line=line,
            bytes=block.size,
            categories=by_bytes((category, block.size) for category, block in categories),
            lines=dict(list(others.items())[:_LINES]),
            other_lines=sum(list(others.values())[_LINES:]),
        )

    def _category(self, block: Block) -> str:
        in_backward = self._backwards.mark_at(block.born) is not None
        return category_of(block, self._labels, in_backward, _within(block.born, self._optimizers))

    def _place(self, block: Block) -> tuple[str, str, str]:
        mark = self._backwards.mark_at(block.born)
        own = line_of(block.places)
        if mark is not None:
            return "backward", mark.node, own or mark.line
        phase = "optimizer" if _within(block.born, self._optimizers) else "forward" if self._backwards.spans else "start"
        return phase, "", own

    def _line(self, block: Block) -> str:
        own = line_of(block.places)
        mark = self._backwards.mark_at(block.born)
        return own or (f"{mark.line or mark.node} (backward)" if mark is not None else "unknown")


def _within(position: int, spans: list[Span]) -> bool:
    return any(begin < position <= end for begin, end in spans)


def _spans(ends: list[int]) -> list[Span]:
    return list(zip([0, *ends], ends, strict=False))
