"""The estimate of a step: a range, and the figures behind it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from torch_aclnn.timing import launches
from torch_aclnn.timing.chip import Chip
from torch_aclnn.timing.formulas import ATTENTION, ATTENTION_BACKWARD, CUBE, INDEXED, VECTOR
from torch_aclnn.timing.pipeline import Pipeline, pipeline_of
from torch_aclnn.timing.result import Estimate, KindOfLaunch
from torch_aclnn.timing.timeline import COLLECTIVE, COPY, Task, Timeline, simulate

_KINDS = 10
_LARGEST_ERROR = 0.25
# Relative errors of the estimate: of the time of each kind of work, and of waiting for the host or for other ranks.
_ERRORS = {CUBE: 0.21, ATTENTION: 0.25, ATTENTION_BACKWARD: 0.25, VECTOR: 0.23, INDEXED: 0.3, COLLECTIVE: 0.24, COPY: 0.3}
_ERROR_OF_WAITING = 0.35
_WITHOUT_COST = ("aclop", "aclmdlRIExecute")  # operators by name, and captured graphs


class NoStep(ValueError):
    """A trace without launches."""


def estimate(trace: Path, chip: Chip, groups: Mapping[str, Sequence[int]]) -> tuple[Estimate, Timeline]:
    """Return the estimate of the step in the trace, and its timeline.

    Raises:
        NoStep: the trace has no launches.

    """
    calls = list(launches.read(trace))
    timeline = simulate(calls, chip, groups)
    if not timeline.tasks:
        raise NoStep("the step has no launches")
    found = summary(timeline, chip, pipeline_of(calls, len(groups.get("pipeline", []))))
    unknown = Counter(call.name for call in calls if call.name.startswith(_WITHOUT_COST))
    found.remarks.extend(f"missing in the sum: {count} x {name}, of which no cost is known" for name, count in unknown.items())
    return found, timeline


def summary(timeline: Timeline, chip: Chip, pipeline: Pipeline) -> Estimate:
    """Return what the timeline shows."""
    tasks = timeline.tasks
    working = _covered(task for task in tasks if task.work.unit != COLLECTIVE)
    busy = _covered(tasks)
    waited = min(timeline.waited, max(timeline.seconds - busy, 0.0))
    idle = max(timeline.seconds - busy - waited, 0.0)
    bubbles = waited + _span_of_products(tasks) * pipeline.bubbles
    seconds = timeline.seconds + bubbles - waited
    sums: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    units: Counter[str] = Counter()
    for task in tasks:
        sums[task.name] += task.work.seconds  # type: ignore[assignment]
        units[task.work.unit] += task.work.seconds  # type: ignore[assignment]
        counts[task.name] += 1
    launched = sum(sums.values())
    error = _error(units, launched, busy, idle + bubbles)
    kinds = [KindOfLaunch(name, took, took / seconds, counts[name]) for name, took in sums.most_common(_KINDS)]
    return Estimate(
        card=f"{chip.name} ({chip.about})",
        seconds=seconds,
        low=seconds * (1 - error),
        high=seconds * (1 + error),
        utilisation=sum(task.work.cost.flops for task in tasks if task.work.cost) / seconds / (chip["cube_tflops.bfloat16"] * 1e12),
        tokens=_tokens(tasks),
        host=timeline.host,
        idle=idle,
        exposed=busy - working,
        bubbles=bubbles,
        stages=pipeline.stages,
        messages=pipeline.messages,
        by_default=sum(task.work.seconds for task in tasks if task.work.cost and task.work.cost.by_default) / max(launched, 1e-9),
        kinds=kinds,
        remarks=_remarks(seconds, idle, busy - working, bubbles, counts, pipeline),
    )


def _error(units: Mapping[str, float], launched: float, busy: float, waiting: float) -> float:
    """Return the error of the sum: the errors of the kinds are added, because all figures come from the same few programs."""
    of_launches = sum(_ERRORS[unit] * took for unit, took in units.items()) / max(launched, 1e-9)
    return min((of_launches * busy + _ERROR_OF_WAITING * waiting) / max(busy + waiting, 1e-9), _LARGEST_ERROR)


def _span_of_products(tasks: Sequence[Task]) -> float:
    """Return the seconds from the first to the last product, between which microbatches go through the pipeline."""
    products = [task for task in tasks if task.work.unit in (CUBE, ATTENTION, ATTENTION_BACKWARD)]
    return max(task.end for task in products) - products[0].begin if products else 0.0


def _covered(tasks: Iterable[Task]) -> float:
    """Return the seconds in which at least one of the tasks runs."""
    covered, reached = 0.0, float("-inf")
    for begin, end in sorted((task.begin, task.end) for task in tasks):
        covered += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return covered


def _tokens(tasks: Iterable[Task]) -> int:
    found: Counter[float] = Counter()
    for task in tasks:
        if task.work.looked_up:
            rows, words = task.work.looked_up
            found[rows] += words
    return int(found[max(found)]) if found else 0


def _remarks(seconds: float, idle: float, exposed: float, bubbles: float, counts: Mapping[str, int], pipeline: Pipeline) -> list[str]:
    remarks = []
    if idle > 0.1 * seconds:
        remarks.append("the device waits for the host: a larger batch, fused operators or a captured graph")
    if exposed > 0.1 * seconds:
        remarks.append("communication is exposed: overlap it, or smaller groups within a node")
    if bubbles > 0.1 * seconds:
        remarks.append("stages wait for each other: more microbatches, or virtual stages")
    if pipeline.bubbles:
        remarks.append("the other stages are taken to be as long as this one: --ranks with all of them simulates each")
    forward, backward = (
        sum(count for name, count in counts.items() if "FlashAttentionScore" in name and ("Grad" in name) is grad) for grad in (False, True)
    )
    if backward and forward > backward:
        remarks.append(f"attention's forward runs {forward} times for {backward} backwards: less recomputation, if there is memory")
    return remarks
