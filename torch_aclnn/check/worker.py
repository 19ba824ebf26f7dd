"""A process that checks in one mode of torch_npu's task queue and writes what it finds to a pipe, a JSON object a line.

First comes {"total": number of checks}, then {"machine": ...}, then the checks.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial

from torch_aclnn.check import features, layers, machine, memory, ranks, records, values
from torch_aclnn.check.families import SPECIFICATIONS
from torch_aclnn.check.layouts import LAYOUTS
from torch_aclnn.functional._arguments import is_offered


@dataclass(frozen=True)
class Job:
    """The work for one check, and its name if that raises."""

    check: str
    operator: str
    run: Callable[[], records.Check]


@dataclass(frozen=True)
class Feature:
    """A check that concerns one operator and no dtype, done for each mode or for the first.

    A failure while computing may end the process, so the features that may be refused late come last.
    """

    check: str
    operator: str
    run: Callable[[int], records.Check]
    in_each_mode: bool


FEATURES = (
    Feature("unpooling", "max_unpool3d", features.unpooling, in_each_mode=True),
    Feature("stream", "avg_pool2d", features.stream, in_each_mode=True),
    Feature("device", "avg_pool2d", features.device, in_each_mode=True),
    Feature("graph", "avg_pool2d", features.graph, in_each_mode=True),
    Feature("private formats", "avg_pool2d", features.private_formats, in_each_mode=False),
    Feature("collective", "batch_norm_elemt", ranks.collective, in_each_mode=False),
)


def jobs(operators: Sequence[str], mode: int, is_first: bool, is_quick: bool = False) -> Iterator[Job]:
    """Return all that is to be done.

    Args:
        operators: those that were asked for.
        mode: of the task queue.
        is_first: do what does not depend on the mode, too.
        is_quick: leave out layouts other than the contiguous, and layers of the sizes of networks.

    """
    for name in operators:
        for dtype in SPECIFICATIONS[name].dtypes:
            for layout in list(LAYOUTS)[: 1 if is_quick else None]:
                yield Job("values", name, partial(values.check_values, name, dtype, layout, mode))
            yield Job("determinism", name, partial(values.check_determinism, name, dtype, mode))
        yield Job("queued", name, partial(memory.check_queued, name, mode))
        if is_first and is_offered(name):  # if it is not offered, the layer is composed of torch's own operators
            yield Job("memory", name, partial(memory.kept_bytes, name, mode))
    rows = (*layers.LAYERS, *(layers.NETWORKS if is_first and not is_quick else ()))
    for layer in (row for row in rows if row.operator in operators):
        for dtype in layers.DTYPES if layer.network is None else layers.DTYPES_OF_NETWORKS:
            yield Job("layer", layer.operator, partial(layers.check_layer, layer, dtype, mode))
    for feature in FEATURES:
        if feature.operator in operators and (is_first or feature.in_each_mode):
            yield Job(feature.check, feature.operator, partial(feature.run, mode))


def do(job: Job, mode: int) -> records.Check:
    """Run the job; an exception is a failed check, so that the others are done nevertheless."""
    try:
        return job.run()
    except Exception as error:
        status = values.status_of_error(job.operator, None, error)
        return records.Check(job.check, job.operator, status, mode, message=f"{type(error).__name__}: {error}")


def main(operators: Sequence[str], mode: int, is_first: bool, is_quick: bool, pipe: int) -> None:
    """Do the jobs of the arguments of :func:`jobs`, and write the results to a file descriptor."""
    todo = list(jobs(operators, mode, is_first, is_quick))
    with os.fdopen(pipe, "w", buffering=1) as reports:
        print(json.dumps({"total": len(todo)}), file=reports)
        print(json.dumps({"machine": machine.describe()}), file=reports)
        for job in todo:
            print(json.dumps(asdict(do(job, mode))), file=reports)
