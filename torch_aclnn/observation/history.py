"""The allocator's history, replayed: its peaks, and the blocks at the largest one."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch_aclnn.observation.lines import Place

_MAPPED, _UNMAPPED = ("segment_alloc", "segment_map"), ("segment_free", "segment_unmap")


@dataclass(slots=True)
class Block:
    """Memory from its allocation to its release.

    Attributes:
        address: where it is.
        size: the bytes that were asked for; the allocator's blocks are somewhat larger.
        born: how many allocations there had been, this one included.
        frames: the stack of Python at its allocation, the innermost first, as the allocator has it.
        died: the number of the allocation that was the first after it was freed; None while it is in use.

    """

    address: int
    size: int
    born: int
    frames: Sequence[Mapping[str, Any]]
    died: int | None = None

    @property
    def places(self) -> Iterator[Place]:
        """The stack as places, made when asked for, since few blocks are."""
        return ((frame["filename"], frame["line"]) for frame in self.frames)

    def is_alive(self, position: int) -> bool:
        """Return whether the block was in use after so many allocations."""
        return self.born <= position and (self.died is None or position < self.died)


@dataclass
class History:
    """All blocks, and the totals after each allocation.

    Attributes:
        blocks: in the order of their allocation.
        allocated: the bytes in use right after each allocation.
        reserved: the bytes of the device that the allocator held then.
        waiting: the freed bytes that waited then for an event of another stream, if no event is done before the step ends.
        failed: for each allocation that failed, how many there had been before, and its size.

    """

    blocks: list[Block] = field(default_factory=list)
    allocated: list[int] = field(default_factory=list)
    reserved: list[int] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)
    failed: list[tuple[int, int]] = field(default_factory=list)

    def peak(self, begin: int = 0, end: int | None = None) -> int:
        """Return the number, from 1, of the allocation after which most was in use, the first of equal ones; 0 without allocations."""
        part = self.allocated[begin:end]
        return begin + part.index(max(part)) + 1 if part else 0

    def largest(self, course: Sequence[int], begin: int = 0, end: int | None = None) -> int:
        """Return the largest value of one of the totals."""
        return max(course[begin:end], default=0)

    def alive(self, position: int) -> list[Block]:
        """Return the blocks in use after so many allocations."""
        return [block for block in self.blocks if block.is_alive(position)]


def replay(events: Iterable[Mapping[str, Any]], ends_of_steps: Sequence[int] = ()) -> History:
    """Return the history of the trace of one device, as ``torch.npu.memory._snapshot()`` has it.

    Args:
        events: the trace.
        ends_of_steps: after how many allocations a step ended.

    """
    history = History()
    in_use: dict[int, Block] = {}
    totals: dict[str, int] = defaultdict(int)
    awaited: dict[int, int] = {}
    ends = set(ends_of_steps)
    for event in events:
        action, address, size = event["action"], event.get("addr", 0), event.get("size", 0)
        if awaited and (action != "free_completed" or address not in awaited):
            totals["waiting"] += sum(awaited.values())  # a free that is not completed at once waits for another stream
            awaited.clear()
        if action == "alloc":
            if len(history.blocks) in ends:
                totals["waiting"] = 0
            block = Block(address, size, len(history.blocks) + 1, event.get("frames", ()))
            history.blocks.append(block)
            in_use[address] = block
            totals["allocated"] += size
            for course in ("allocated", "reserved", "waiting"):
                getattr(history, course).append(totals[course])
        elif action == "free_requested" and address in in_use:
            freed = in_use.pop(address)
            freed.died = len(history.blocks) + 1
            totals["allocated"] -= freed.size
            awaited[address] = freed.size
        elif action == "free_completed":
            awaited.pop(address, None)
        elif action in _MAPPED:
            totals["reserved"] += size
        elif action in _UNMAPPED:
            totals["reserved"] -= size
        elif action == "oom":
            history.failed.append((len(history.blocks), size))
    return history
