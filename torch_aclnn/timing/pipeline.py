"""A pipeline, as the messages of one stage show it: this process does not see the other stages."""

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from torch_aclnn.timing.launches import MESSAGES, Call


@dataclass(frozen=True)
class Pipeline:
    """A pipeline.

    Attributes:
        stages: how many; 1 without a pipeline.
        messages: those that this stage sent and received in the step.
        bubbles: for how long the stage waits, as a part of the time that it works, if all stages take the same.

    """

    stages: int = 1
    messages: int = 0
    bubbles: float = 0.0


@dataclass
class _Messages:
    stages: int = 1
    count: int = 0
    peers: set[int] = field(default_factory=set)
    one_way: int = 0  # the number of groups whose messages have one direction


def pipeline_of(calls: Iterable[Call], stages: int = 0) -> Pipeline:
    """Return the pipeline: the communicator some of whose messages go one way, while a ring exchanges each for another.

    Args:
        calls: of a step.
        stages: how many there are, where that is known; else the ranks of the communicator.

    """
    found: defaultdict[str, _Messages] = defaultdict(_Messages)
    directions: defaultdict[str, set[bool]] = defaultdict(set)  # the directions of the messages in a group that has begun
    grouped = False
    for call in calls:
        if call.name in ("HcclGroupStart", "HcclGroupEnd"):
            grouped = call.name == "HcclGroupStart"
        elif call.name in MESSAGES:
            arguments = json.loads(call.arguments)
            communicator = arguments.get("commName", "")
            messages = found[communicator]
            messages.stages = max(stages, arguments.get("ranks", 1))
            for sends, key in ((True, "destRank"), (False, "srcRank")):
                peers = [arguments[key]] if key in arguments else arguments.get(f"{key}s", [])
                messages.count += len(peers)
                messages.peers.update(peers)
                directions[communicator] |= {sends} if peers else set()
        if not grouped:
            for communicator, both in directions.items():
                found[communicator].one_way += len(both) == 1
            directions.clear()
    pipelines = [messages for messages in found.values() if messages.one_way]
    return max((_described(messages) for messages in pipelines), key=lambda one: one.stages, default=Pipeline())


def _described(messages: _Messages) -> Pipeline:
    # A stage between two others has four messages for each microbatch: an activation and a gradient, in and out; one at an end has two.
    microbatches = messages.count / (2 if len(messages.peers) == 1 else 4)
    return Pipeline(messages.stages, messages.count, (messages.stages - 1) / max(microbatches, 1.0))
