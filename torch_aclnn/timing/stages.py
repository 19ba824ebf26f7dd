"""The stages of a pipeline side by side: each makes its own calls, and a message that is received waits for the one that was sent."""

import json
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torch_aclnn.timing.chip import Chip
from torch_aclnn.timing.launches import Call
from torch_aclnn.timing.timeline import Machine, Timeline

_PAIR = 2
_Sent = defaultdict[tuple[int, int], deque[float]]  # the key has the numbers of the sending and of the receiving stage


@dataclass(frozen=True)
class Program:
    """What a stage does.

    Attributes:
        calls: those of a step.
        groups: the ranks of its communicators, and ``"pipeline"``.
        rank: the rank whose calls they are, or an equal one.

    """

    calls: Sequence[Call]
    groups: Mapping[str, Sequence[int]]
    rank: int


class Post:
    """The messages of a stage."""

    def __init__(self, stage: int, program: Program, sent: _Sent) -> None:
        self._stage, self._program, self._sent = stage, program, sent

    def lacks(self, call: Call) -> bool:
        """Return whether a message that the call receives has not been sent yet."""
        return not all(self._sent[peer, self._stage] for peer in self._peers(call, "srcRank"))

    def exchange(self, call: Call, end: float) -> float:
        """Note what the call sends, and return when the last of the messages that it receives arrives."""
        for peer in self._peers(call, "destRank"):
            self._sent[self._stage, peer].append(end)
        waiting = [self._sent[peer, self._stage] for peer in self._peers(call, "srcRank")]
        return max([end, *(messages.popleft() for messages in waiting if messages)])

    def _peers(self, call: Call, key: str) -> list[int]:
        arguments, pipeline = json.loads(call.arguments), list(self._program.groups["pipeline"])
        peers = [arguments[key]] if key in arguments else arguments.get(f"{key}s", [])
        own = pipeline.index(self._program.rank)
        if group := self._program.groups.get(arguments.get("commName", "")):
            steps = [pipeline.index(group[peer]) - own for peer in peers if group[peer] in pipeline]
        else:  # torch's communicator of two ranks, whose first is the lower one
            steps = [1 if peer else -1 for peer in peers if arguments.get("ranks") == _PAIR]
        return [(self._stage + step) % len(pipeline) for step in steps]


def simulate_stages(programs: Sequence[Program], chip: Chip) -> list[Timeline]:
    """Simulate two equal steps, and return the timelines of the stages in the second."""
    sent: _Sent = defaultdict(deque)
    machines = [Machine(chip, program.groups, Post(stage, program, sent)) for stage, program in enumerate(programs)]
    _run(machines, programs)
    begun = max(machine.now() for machine in machines)
    marks = [machine.mark(begun) for machine in machines]
    _run(machines, programs)
    end = max(machine.now() for machine in machines)
    return [machine.since(mark, end) for machine, mark in zip(machines, marks, strict=True)]


def _run(machines: Sequence[Machine], programs: Sequence[Program]) -> None:
    running = {machine: machine.steps(program.calls) for machine, program in zip(machines, programs, strict=True)}
    reached = -1
    while running:
        made = sum(len(machine.tasks) for machine in machines)
        for machine in running:
            machine.waits = made > reached  # without progress, messages that nobody sends are not waited for
        reached = made
        running = {machine: calls for machine, calls in running.items() if next(calls, "ended") != "ended"}
