"""Estimate the time of a step of configurations of MindSpeed-LLM's CI in dry runs, beside what NPUs took there.

python -m benchmarks.npu_times TABLE --checkouts DIR

TABLE has a line for each rank: release, name of the script, rank, two columns of memory, milliseconds of an iteration, separated by
tabs. DIR has bare copies Ascend+MindSpeed-LLM/repo, Ascend+MindSpeed/repo and NVIDIA+Megatron-LM/repo, as for benchmarks.npu_memory.
"""

import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks.npu_memory import data
from benchmarks.npu_memory.script import Command, command
from benchmarks.npu_memory.stacks import RELEASES, Stack, stack
from benchmarks.npu_times.trainings import CONSTANT, summarise

_HEAD = ("release", "name", "rank", "published ms", "from", "to", "error", "inside", "constant's error", "of the peak")


def main() -> None:
    """Print a line for each configuration, of its slower end of the pipeline, and then how good all are."""
    arguments = _arguments()
    work = arguments.work.resolve()
    data.make(work / "data")
    print(*_HEAD, sep="\t", flush=True)
    found = []
    for (release, name), (ranks, published) in _table(arguments.table).items():
        if not re.search(arguments.only, f"{release} {name}"):
            continue
        try:
            sources = stack(arguments.checkouts.resolve(), work, release)
            started = command(sources, name, work / "data")
            times = {rank: _time(sources, started, name, rank, work, arguments) for rank in sorted({min(ranks), max(ranks)})}
        except LookupError as problem:
            print(release, name, "", f"not estimated: {problem}", sep="\t", flush=True)
            continue
        rank, time = _slower(times)
        errors = time["seconds"] / published - 1, time["utilisation"] * time["seconds"] / CONSTANT / published - 1
        inside = time["low"] <= published <= time["high"]
        found.append((*errors, inside))
        row = (
            f"{published * 1e3:.0f}",
            f"{time['low'] * 1e3:.0f}",
            f"{time['high'] * 1e3:.0f}",
            f"{errors[0]:+.1%}",
            "yes" if inside else "no",
        )
        print(release, name, rank, *row, f"{errors[1]:+.1%}", f"{time['utilisation']:.0%}", sep="\t", flush=True)
    summarise(found)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.npu_times", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("table", type=Path, metavar="TABLE", help="what NPUs took")
    parser.add_argument("--checkouts", type=Path, required=True, metavar="DIR", help="bare copies of the three repositories")
    work = Path(tempfile.gettempdir(), "npu_memory")
    parser.add_argument("--work", type=Path, default=work, metavar="DIR", help="for checkouts, data and logs")
    parser.add_argument("--only", default="", metavar="PATTERN", help="a regular expression that 'release name' has to match")
    parser.add_argument("--cards", nargs=2, default=("A2 376T", "A3"), metavar="NAME", help="of scripts without and with A3 in the name")
    return parser.parse_args()


def _table(path: Path) -> dict[tuple[str, str], tuple[list[int], float]]:
    found: dict[tuple[str, str], tuple[list[int], float]] = defaultdict(lambda: ([], 0.0))
    with path.open(newline="") as lines:
        for release, name, rank, _, _, milliseconds, *_ in csv.reader(lines, delimiter="\t"):
            if release in RELEASES and milliseconds:
                found[release, name] = ([*found[release, name][0], int(rank)], float(milliseconds) / 1e3)
    return found


def _slower(times: dict[int, dict[str, Any]]) -> tuple[int, dict[str, Any]]:
    """Return the end of the pipeline that works longer, waiting for stages that are as long as the other end."""
    rank, time = max(times.items(), key=lambda item: item[1]["seconds"] - item[1]["bubbles"])
    waiting = min(one["bubbles"] for one in times.values())
    scale = 1 - (time["bubbles"] - waiting) / time["seconds"]
    scaled = {name: time[name] * scale for name in ("low", "seconds", "high")}
    return rank, {**time, **scaled, "utilisation": time["utilisation"] / scale}


def _time(sources: Stack, started: Command, name: str, rank: int, work: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    report = work / "times" / f"{sources.programs.name}-{name}-{rank}.json"
    report.parent.mkdir(parents=True, exist_ok=True)
    card = arguments.cards["A3" in name]
    asked = [sys.executable, "-m", "torch_aclnn", "dryrun", "--time", "--card", card, "--memory", "1000G", "--json", str(report)]
    asked += ["--rank", str(rank), "--world-size", str(started.ranks), started.program, *started.arguments]
    paths = ":".join(filter(None, (sources.paths(), os.environ.get("PYTHONPATH", ""))))
    extensions = work / "extensions" / sources.features.name
    environment = {**os.environ, **started.environment, "PYTHONPATH": paths, "TORCH_EXTENSIONS_DIR": str(extensions), "HF_HUB_OFFLINE": "1"}
    report.unlink(missing_ok=True)
    with report.with_suffix(".log").open("w") as log:
        subprocess.run(asked, check=False, cwd=sources.programs, env=environment, stdout=log, stderr=subprocess.STDOUT)
    time: dict[str, Any] | None = json.loads(report.read_text())["time"] if report.exists() else None
    if time is None:
        raise LookupError(f"no step of rank {rank}; see {report.with_suffix('.log')}")
    return time


main()
