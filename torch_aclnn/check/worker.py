"""A process that checks in one mode of torch_npu's task queue and writes what it finds to a pipe, a JSON object a line.

First comes {"total": number of records}, then {"machine": ...}, then the records.
"""

import argparse
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from torch_aclnn.check import cost, machine, records, values
from torch_aclnn.check.layouts import LAYOUTS
from torch_aclnn.check.operators import SPECIFICATIONS


@dataclass(frozen=True)
class Job:
    """What to run for one record, and how to name it if that raises."""

    check: str
    operator: str | None
    run: Callable[[], records.Record]


def jobs(operators: Sequence[str], mode: int, is_first: bool) -> Iterator[Job]:
    """Return all that is to be done. What does not depend on the mode is done in the first."""
    for name in operators:
        for dtype in SPECIFICATIONS[name].dtypes:
            for layout in LAYOUTS:
                yield Job("values", name, partial(values.check_values, name, dtype, layout, mode))
            yield Job("determinism", name, partial(values.check_determinism, name, dtype, mode))
        yield Job("cost", name, partial(cost.calling_cost, name, mode))
        if is_first:
            yield Job("memory", name, partial(cost.kept_bytes, name, mode))
    if is_first and machine.generation() != "inference":
        yield Job("launches", None, cost.launches)


def do(job: Job, mode: int) -> records.Record:
    """Run the job; an exception is a failed check, so that the others are done nevertheless."""
    try:
        return job.run()
    except Exception as error:
        status = values.status_of_error(job.operator, None, error)
        return records.Check(job.check, job.operator, status, mode, message=f"{type(error).__name__}: {error}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pipe", type=int, required=True)
    parser.add_argument("--mode", type=int, required=True)
    parser.add_argument("--operator", action="append", required=True)
    parser.add_argument("--first", action="store_true")
    options = parser.parse_args(arguments)
    todo = list(jobs(options.operator, options.mode, options.first))
    with os.fdopen(options.pipe, "w", buffering=1) as pipe:
        print(json.dumps({"total": len(todo)}), file=pipe)
        print(json.dumps({"machine": machine.describe()}), file=pipe)
        for job in todo:
            print(json.dumps(records.to_json(do(job, options.mode))), file=pipe)
