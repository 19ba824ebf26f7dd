"""Run configurations of MindSpeed-LLM's CI in dry runs, beside the memory that NPUs measured there.

python -m benchmarks.npu_memory TABLE --checkouts DIR

TABLE has a line for each rank: release, name of the script, rank, MiB allocated and at most after the first iteration, separated by
tabs, as Megatron prints them. DIR has bare copies Ascend+MindSpeed-LLM/repo, Ascend+MindSpeed/repo and NVIDIA+Megatron-LM/repo. Of a
script only paths of data, tokenizers and checkpoints are changed.
"""

import argparse
import csv
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from benchmarks.npu_memory import data
from benchmarks.npu_memory.script import Command, command
from benchmarks.npu_memory.stacks import RELEASES, Stack, stack

Measured = dict[int, tuple[float, float]]
_MEMORY = r"\[Rank {}\] \(after 1 iterations\) memory \(MB\) \| allocated: ([\d.]+) \| max allocated: ([\d.]+)"
_ERRORS = re.compile(r"^\w*(?:Error|Exception)\b.*|VERDICT.*|^  the program .*", re.MULTILINE)
_HEAD = ("release", "name", "rank", "allocated", "ours", "error", "max allocated", "ours", "error", "exit code", "processor seconds")


def main() -> None:
    """Print a line for each rank as it ends."""
    arguments = _arguments()
    work = arguments.work.resolve()
    data.make(work / "data")
    print(*_HEAD, sep="\t", flush=True)
    for (release, name), measured in _table(arguments.table).items():
        if not re.search(arguments.only, f"{release} {name}"):
            continue
        try:
            sources = stack(arguments.checkouts.resolve(), work, release)
            started = command(sources, name, work / "data")
        except LookupError as error:
            print(release, name, "", f"not run: {error}", sep="\t", flush=True)
            continue
        for rank in _chosen(sorted(measured), arguments.ranks):
            log = work / "logs" / f"{release}-{name}-{rank}.log"
            print(release, name, rank, *_run(sources, started, name, rank, measured[rank], log), sep="\t", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.npu_memory", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("table", type=Path, metavar="TABLE", help="what NPUs measured")
    parser.add_argument("--checkouts", type=Path, required=True, metavar="DIR", help="bare copies of the three repositories")
    work = Path(tempfile.gettempdir(), "npu_memory")
    parser.add_argument("--work", type=Path, default=work, metavar="DIR", help="for checkouts, data and logs")
    parser.add_argument("--only", default="", metavar="PATTERN", help="a regular expression that 'release name' has to match")
    parser.add_argument("--ranks", choices=("first", "some", "all"), default="some", help="some: first, middle and last of each name")
    return parser.parse_args()


def _table(path: Path) -> dict[tuple[str, str], Measured]:
    found: dict[tuple[str, str], Measured] = defaultdict(dict)
    with path.open(newline="") as lines:
        for release, name, rank, allocated, most, *_ in csv.reader(lines, delimiter="\t"):
            if release in RELEASES:
                found[release, name][int(rank)] = (float(allocated), float(most))
    return found


def _chosen(ranks: list[int], which: str) -> list[int]:
    if which == "all":
        return ranks
    return ranks[:1] if which == "first" else sorted({ranks[0], ranks[len(ranks) // 2], ranks[-1]})


def _run(sources: Stack, started: Command, name: str, rank: int, measured: tuple[float, float], log: Path) -> list[str]:
    log.parent.mkdir(parents=True, exist_ok=True)
    asked = [sys.executable, "-m", "torch_aclnn", "dryrun", "--rank", str(rank), "--world-size", str(started.ranks)]
    if "A3" in name:
        asked += ["--card", "A3"]
    extensions = log.parents[1] / "extensions" / sources.features.name
    paths = ":".join(filter(None, (sources.paths(), os.environ.get("PYTHONPATH", ""))))
    environment = {**os.environ, **started.environment, "PYTHONPATH": paths, "TORCH_EXTENSIONS_DIR": str(extensions), "HF_HUB_OFFLINE": "1"}
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command_line = [*asked, started.program, *started.arguments]
    with log.open("w") as out:
        process = subprocess.run(command_line, check=False, cwd=sources.programs, env=environment, stdout=out, stderr=subprocess.STDOUT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return [
        *_beside(log.read_text(errors="replace"), rank, measured),
        str(process.returncode),
        f"{seconds:.0f} of {time.monotonic() - begun:.0f}",
    ]


def _beside(text: str, rank: int, measured: tuple[float, float]) -> list[str]:
    """Return both figures beside those of the NPU, or what the run said of its end."""
    found = re.search(_MEMORY.format(rank), text)
    if found is None:
        return [f"no figure: {' | '.join(_ERRORS.findall(text)[-3:])[:300]}"]
    columns = []
    for theirs, ours in zip(measured, map(float, found.groups()), strict=True):
        columns += [f"{theirs:.1f}", f"{ours:.1f}", f"{(ours / theirs - 1):+.3%}"]
    return columns


main()
