"""When each launch of a step would begin and end: the host issues launches in turn, streams run in order, and events make them wait."""

import json
import math
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from torch_aclnn.timing import communication
from torch_aclnn.timing.chip import Chip
from torch_aclnn.timing.costs import Cost, cost_of
from torch_aclnn.timing.formulas import INDEXED, VECTOR
from torch_aclnn.timing.launches import MESSAGES, Call

if TYPE_CHECKING:
    from torch_aclnn.timing.stages import Post

COLLECTIVE, COPY = "collective", "copy"
_EVENT_SECONDS = 2e-6  # the host's time for a call that only records something
_UPLOAD = 20e9  # bytes per second between host and device
_IN_FLIGHT = 3e-6
_SIZES = {"float32": 4, "float16": 2, "bfp16": 2, "bfloat16": 2, "int8": 1, "uint8": 1, "int64": 8, "float64": 8, "int32": 4}


@dataclass(frozen=True, slots=True)
class Work:
    """What a launch does.

    Attributes:
        seconds: how long it runs.
        unit: what runs it.
        cost: that of an entry point.
        looked_up: for an embedding, the rows of its table, and how many are looked up.

    """

    seconds: float
    unit: str
    cost: Cost | None = None
    looked_up: tuple[int, int] | None = None


@dataclass(slots=True)
class Task:
    """A launch on the timeline; times in seconds."""

    name: str
    stream: int
    begin: float
    work: Work
    issued: float
    pace: float

    @property
    def end(self) -> float:
        """When it ends."""
        return self.begin + self.work.seconds


@dataclass
class Timeline:
    """The tasks of a step in steady state.

    Attributes:
        tasks: in the order in which they were issued; the step begins at 0.
        seconds: from the end of the step before to its own.
        host: of these, how long the host makes calls.
        waited: how long messages kept streams waiting, where other stages were simulated beside this one.

    """

    tasks: list[Task] = field(default_factory=list)
    seconds: float = 0.0
    host: float = 0.0
    waited: float = 0.0


def simulate(calls: Sequence[Call], chip: Chip, groups: Mapping[str, Sequence[int]]) -> Timeline:
    """Return the timeline of the second of two equal steps, the first of which fills the streams."""
    machine = Machine(chip, groups)
    deque(machine.steps(calls), maxlen=0)
    mark = machine.mark(machine.now())
    deque(machine.steps(calls), maxlen=0)
    return machine.since(mark, machine.now())


class Machine:
    """A host and its device.

    Args:
        chip: what the device is.
        groups: the ranks of each communicator.
        post: the messages between this stage of a pipeline and the others; None if those are not simulated.

    Attributes:
        waits: whether a message that has not been sent holds the host up.
        tasks: all that were made.

    """

    def __init__(self, chip: Chip, groups: Mapping[str, Sequence[int]], post: "Post | None" = None) -> None:
        self._chip = chip
        self._groups = groups
        self._post = post
        self._pace = chip["microseconds.launch"] * 1e-6
        self._works: dict[tuple[str, str], Work] = {}
        self._streams: defaultdict[int, float] = defaultdict(float)
        self._events: dict[str, float] = {}
        self._host = 0.0
        self._busy = 0.0
        self._waited = 0.0
        self.waits = True
        self.tasks: list[Task] = []

    def mark(self, begin: float) -> tuple[float, float, float, int]:
        """Return where a step begins, for ``since``."""
        return begin, self._busy, self._waited, len(self.tasks)

    def since(self, mark: tuple[float, float, float, int], end: float) -> Timeline:
        """Return the timeline from a mark on; the mark's time is 0."""
        begin, busy, waited, made = mark
        tasks = self.tasks[made:]
        for task in tasks:
            task.begin -= begin
            task.issued -= begin
        return Timeline(tasks, end - begin, self._busy - busy, self._waited - waited)

    def now(self) -> float:
        """Return the time at which all calls are done."""
        return max([self._host, *self._streams.values()])

    def steps(self, calls: Iterable[Call]) -> Iterator[None]:
        """Make the calls, and pause in front of a message that has not been sent."""
        for call in calls:
            name, stream = call.name, call.stream
            if self._post is not None and name in MESSAGES and stream is not None:
                while self.waits and self._post.lacks(call):
                    yield
                self._launch(name, stream, call.arguments, self._pace)
                ready = self._post.exchange(call, self.tasks[-1].end)
                self._waited += ready - self._streams[stream]
                self._streams[stream] = ready
            elif name.startswith(("aclnn", "Hccl")) and stream is not None:
                self._launch(name, stream, call.arguments, self._pace)
            elif name.startswith("aclrtMemcpy") or name.startswith("aclrtMemset"):
                self._launch(name, stream or 0, call.arguments, self._pace)
                if not name.endswith("Async"):
                    self._wait(self._streams[stream or 0])
            elif name.startswith("aclrtSynchronizeDevice"):
                self._wait(max(self._streams.values(), default=0.0))
            elif name.startswith("aclrtSynchronizeStream") and stream is not None:
                self._wait(self._streams[stream])
            elif "Event" in name:
                self._event(name, stream, call.arguments)

    def _event(self, name: str, stream: int | None, arguments: str) -> None:
        event = arguments[: arguments.find(",")] if "," in arguments else arguments.rstrip("}")
        self._work_on(_EVENT_SECONDS)
        if name == "aclrtRecordEvent" and stream is not None:
            self._events[event] = max(self._streams[stream], self._host)
        elif name == "aclrtStreamWaitEvent" and stream is not None:
            self._streams[stream] = max(self._streams[stream], self._events.get(event, 0.0))
        elif name.startswith("aclrtSynchronizeEvent"):
            self._wait(self._events.get(event, 0.0))

    def _wait(self, until: float) -> None:
        self._host = max(self._host, until)

    def _work_on(self, seconds: float) -> None:
        self._host += seconds
        self._busy += seconds

    def _launch(self, name: str, stream: int, arguments: str, pace: float) -> None:
        key = (name, arguments)
        work = self._works.get(key)
        if work is None:
            work = self._works[key] = self._work(name, json.loads(arguments))
        self._work_on(pace)
        begin = max(self._streams[stream], self._host + _IN_FLIGHT)
        self._streams[stream] = begin + work.seconds
        self.tasks.append(Task(name, stream, begin, work, self._host, pace))

    def _work(self, name: str, arguments: dict[str, Any]) -> Work:
        if name.startswith("Hccl"):
            return Work(self._between_ranks(name, arguments), COLLECTIVE)
        if name.startswith("aclrt"):
            return self._copy(name, arguments)
        cost = cost_of(name, arguments)
        if "group" in arguments and (ranks := self._groups.get(str(arguments["group"]))):
            return self._fused(name, cost, ranks)
        looked_up = (arguments["weight"]["shape"][0], math.prod(arguments["indices"]["shape"])) if name == "aclnnEmbedding" else None
        return Work(seconds_of(cost, self._chip), cost.unit, cost, looked_up)

    def _fused(self, name: str, cost: Cost, ranks: Sequence[int]) -> Work:
        """Return the work of a matmul that is computed in parts, between which the ranks exchange results."""
        first, last = cost.ends
        if "AllReduce" in name or "lltoAll" in name:
            size = last if "AllReduce" in name or not name.startswith("aclnnAlltoAll") else first
        else:  # one end has a rank's part, the other all; the matmul's size is between them, at the root of their product
            cost = replace(cost, work=cost.work * len(ranks) ** 0.5)
            size = min(first, last) * len(ranks)
        shorter, longer = sorted((seconds_of(cost, self._chip), communication.seconds(name, size, ranks, self._chip)))
        return Work(longer + shorter * (1 - self._chip["efficiency.overlap"]), cost.unit, cost)

    def _copy(self, name: str, arguments: dict[str, Any]) -> Work:
        size = arguments.get("count", 0)
        within = name.startswith("aclrtMemset") or arguments.get("kind") == 3
        rate = self._chip["bandwidth_gib_s"] * (1 << 30) * self._chip["efficiency.bandwidth"] / 2 if within else _UPLOAD
        return Work(self._chip["microseconds.kernel"] * 1e-6 + size / rate, COPY)

    def _between_ranks(self, name: str, arguments: dict[str, Any]) -> float:
        size = arguments.get("bytes", 0)
        if "count" in arguments and name in ("HcclSend", "HcclRecv"):
            size = arguments["count"] * _SIZES.get(arguments.get("dataType", ""), 2)
        ranks = self._groups.get(arguments.get("commName", ""), range(arguments.get("ranks", 1)))
        if name in ("HcclSend", "HcclRecv") and len(ranks) > 1:
            peer = arguments.get("destRank", arguments.get("srcRank", 0))
            ranks = [ranks[peer], next(rank for i, rank in enumerate(ranks) if i != peer)] if peer < len(ranks) else ranks
        return communication.seconds(name, size, ranks, self._chip)


def seconds_of(cost: Cost, chip: Chip) -> float:
    """Return how long a launch takes on an idle chip."""
    is_vector = cost.unit in (VECTOR, INDEXED)
    seconds = cost.bytes / (chip["bandwidth_gib_s"] * (1 << 30) * chip[f"efficiency.{'' if is_vector else 'cube_'}bandwidth"])
    if cost.unit == INDEXED:
        seconds = max(seconds, cost.work / (chip["indexed_giga_elements_s"] * 1e9))
    elif not is_vector:
        peak = chip[f"cube_tflops.{cost.rate if cost.rate in chip.data['cube_tflops'] else 'bfloat16'}"] * 1e12
        seconds = max(seconds, cost.work / (peak * chip[f"efficiency.{cost.unit}"]))
    return float(chip[f"microseconds.{'kernel' if is_vector else 'cube'}"] * 1e-6 + seconds)
