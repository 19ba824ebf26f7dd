"""Runs the program of ``torch-aclnn dryrun`` under the engine with an observer, and reports."""

import argparse
import contextlib
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torch_aclnn.command import child
from torch_aclnn.command.coverage import LOG_WARNINGS, Coverage
from torch_aclnn.command.dryrun.arguments import check
from torch_aclnn.command.dryrun.compare import FORMAT, compare
from torch_aclnn.command.dryrun.details import details
from torch_aclnn.command.dryrun.fits import decide
from torch_aclnn.command.dryrun.products import CONTEXT
from torch_aclnn.command.dryrun.screen import first_screen
from torch_aclnn.command.locations import environment_of_programs
from torch_aclnn.command.parser import USAGE_ERROR

# What a process leaves that was ended before it could report.
NOTHING: dict[str, Any] = {
    **{"end": "nothing", "failure": None, "out_of_memory": None, "rank": None, "world_size": None, "dry": True, "steps": 0},
    **{"memory": None, "communicators": 0, "calls": [], "findings": [], "no_findings": "", "communication": [], "value_reads": []},
}


def run(arguments: argparse.Namespace) -> int:
    """Do what the arguments ask for and return the exit code."""
    check(arguments)
    if arguments.compare:
        return compare(*arguments.compare)
    problem = _refusal_of(arguments.product)
    if problem:
        print(f"torch-aclnn dryrun: --product: {problem}", file=sys.stderr)
        return USAGE_ERROR
    report = _observed(arguments)
    print("\n" + "\n".join([*first_screen(report), *details(report)]))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(report, indent=1) + "\n")
    code: int = report["fits"]["code"]
    return code


def _observed(arguments: argparse.Namespace) -> dict[str, Any]:
    coverage = Coverage()
    with child.folder() as directory:
        snapshot = str(arguments.snapshot) if arguments.snapshot else None
        settings = {"steps": arguments.steps, "context": CONTEXT.bytes, "hccl_buffers": arguments.hccl_buffers, "snapshot": snapshot}
        (directory / "settings.json").write_text(json.dumps(settings))
        (directory / "findings").touch()
        exit_code = child.run([sys.executable, *arguments.program], _environment(arguments, directory))
        coverage.read(directory)
        findings = Counter((directory / "findings").read_text().splitlines())
        report = merged([json.loads(path.read_text()) for path in directory.glob("*.json") if path.stem != "settings"])
    report["assumed"] = dict(findings)
    report["coverage"] = coverage.document(exit_code)
    if report["end"] == "nothing":
        report |= {"rank": arguments.rank, "world_size": arguments.world_size}
    report["fits"] = decide(report, arguments.total, arguments.hccl_buffers)
    return {"format": FORMAT, "program": arguments.program, "asked_steps": arguments.steps, "product": arguments.product, **report}


def merged(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the report of the process that trained; of several ranks that of the lowest."""
    whole = [{**NOTHING, **report} for report in reports]
    return min(whole, key=lambda one: (-one["steps"], one["memory"] is None, int(one["rank"] or 0)), default={**NOTHING})


def _environment(arguments: argparse.Namespace, directory: Path) -> dict[str, str]:
    environment = {
        "TASK_QUEUE_ENABLE": "0",  # each call on the line that makes it
        "KINETO_LOG_LEVEL": "99",  # of torch's profiler, which tells of its begin and end
        **environment_of_programs(),
        "TORCH_ACLNN_ENGINE": "host",
        "TORCH_ACLNN_HOST_COMPUTE": "0",
        "TORCH_ACLNN_HOST_SOC": arguments.product,
        "TORCH_ACLNN_HOST_MEMORY": str(arguments.total.bytes),
        "TORCH_ACLNN_HOST_OBSERVE": str(directory),
        "TORCH_ACLNN_HOST_COVERAGE": str(directory),
        "TORCH_ACLNN_HOST_FINDINGS": str(directory / "findings"),
        "ASCEND_GLOBAL_LOG_LEVEL": LOG_WARNINGS,
    }
    if arguments.world_size is not None:
        environment |= {
            "RANK": str(arguments.rank),
            "WORLD_SIZE": str(arguments.world_size),
            "TORCH_ACLNN_HOST_RANK_ALONE": "1",
        }
    return environment


def _refusal_of(product: str) -> str | None:
    """Return why the engine does not present the chip."""
    from torch_aclnn.host.devices import devices  # and the rest of torch_aclnn.host, which every command would import

    os.environ["TORCH_ACLNN_HOST_SOC"] = product
    try:
        with _without_standard_error():
            devices()
    except (OSError, RuntimeError) as error:
        return str(error)
    return None


@contextlib.contextmanager
def _without_standard_error() -> Iterator[None]:
    # The engine says there what it is, which the program's process says too.
    saved = os.dup(2)
    with open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
