"""Dry runs of a public CI's configurations, which benchmarks.npu_memory and benchmarks.npu_times set beside what NPUs measured."""

import argparse
import contextlib
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.npu_memory import data
from benchmarks.npu_memory.script import Command, command
from benchmarks.npu_memory.stacks import RELEASES, Stack, stack

_ERRORS = re.compile(r"^torch-aclnn: .*|^\w*(?:Error|Exception)\b.*|^  the program .*\n.*\n.*", re.MULTILINE)


@dataclass(frozen=True)
class Measured:
    """What an NPU measured: MiB after the first iteration, and seconds of an iteration."""

    allocated: float
    most: float
    seconds: float


@dataclass(frozen=True)
class Run:
    """What the program printed, and the report of the dry run, which is empty if there was none."""

    printed: str
    report: dict[str, Any]

    def problem(self) -> str:
        """The last errors that were printed."""
        return " | ".join(_ERRORS.findall(self.printed)[-3:])[:300]


def arguments(program: str, about: str) -> argparse.Namespace:
    """Parse the command line of a benchmark."""
    parser = argparse.ArgumentParser(prog=f"python -m {program}", description=about)
    parser.add_argument("table", type=Path, metavar="TABLE", help="release, name, rank, MiB allocated and at most, milliseconds")
    parser.add_argument("--checkouts", type=Path, required=True, metavar="DIR", help="bare copies of the three repositories")
    work = Path(tempfile.gettempdir(), "npu_memory")
    parser.add_argument(
        "--work", type=Path, default=work, metavar="DIR", help="for checkouts, data and runs; what is in DIR/runs is not run again"
    )
    parser.add_argument("--only", default="", metavar="PATTERN", help="a regular expression that 'release name' has to match")
    parser.add_argument(
        "--ranks", choices=("first", "ends", "some", "all"), default="some", help="some: first, middle and last of each name"
    )
    parser.add_argument("--cards", nargs=2, default=("A2 376T", "A3"), metavar="NAME", help="of scripts without and with A3 in the name")
    parser.add_argument("--limit", type=int, default=3600, metavar="SECONDS", help="for a rank")
    return parser.parse_args()


def table(path: Path, only: str) -> dict[tuple[str, str], dict[int, Measured]]:
    """Return what NPUs measured, by release and name, and by rank."""
    found: dict[tuple[str, str], dict[int, Measured]] = defaultdict(dict)
    with path.open(newline="") as lines:
        for release, name, rank, allocated, most, *milliseconds in csv.reader(lines, delimiter="\t"):
            if release in RELEASES and re.search(only, f"{release} {name}"):
                seconds = float(milliseconds[0] or 0) / 1e3 if milliseconds else 0.0
                found[release, name][int(rank)] = Measured(float(allocated), float(most), seconds)
    return found


def run(asked: argparse.Namespace, release: str, name: str, ranks: list[int]) -> dict[int, Run]:
    """Run the ranks that were asked for, each alone, with more memory than any needs.

    Raises:
        LookupError: the release has no such script.

    """
    chosen = {"first": [0], "ends": [0, -1], "some": [0, len(ranks) // 2, -1], "all": range(len(ranks))}[asked.ranks]
    work = asked.work.resolve()
    data.make(work / "data")
    sources = stack(asked.checkouts.resolve(), work, release)
    started = command(sources, name, work / "data")
    (work / "runs").mkdir(exist_ok=True)
    options = ["--time", "--card", asked.cards["A3" in name], "--memory", "1000G"]
    return {
        rank: _rank(sources, started, options, work / "runs" / f"{release}-{name}-{rank}", rank, asked.limit)
        for rank in sorted({ranks[one] for one in chosen})
    }


def _rank(sources: Stack, started: Command, options: list[str], stem: Path, rank: int, limit: int) -> Run:
    report, log = (stem.with_name(f"{stem.name}.{kind}") for kind in ("json", "log"))
    if not report.exists():
        asked = [sys.executable, "-m", "torch_aclnn", "dryrun", *options, "--json", str(report)]
        asked += ["--rank", str(rank), "--world-size", str(started.ranks), started.program, *started.arguments]
        extensions = stem.parents[1] / "extensions" / sources.features.name
        paths = ":".join(filter(None, (sources.paths(), os.environ.get("PYTHONPATH", ""))))
        own = {"PYTHONPATH": paths, "TORCH_EXTENSIONS_DIR": str(extensions), "HF_HUB_OFFLINE": "1"}
        environment = os.environ | started.environment | own
        with log.open("w") as out, contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(asked, check=False, cwd=sources.programs, env=environment, stdout=out, stderr=subprocess.STDOUT, timeout=limit)
    return Run(log.read_text(errors="replace"), json.loads(report.read_text()) if report.exists() else {})
