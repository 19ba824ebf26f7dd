"""Estimate the time of a step of configurations of MindSpeed-LLM's CI in dry runs, beside what NPUs took there.

python -m benchmarks.npu_times TABLE --checkouts DIR

TABLE has a line for each rank: release, name of the script, rank, two columns of memory, milliseconds of an iteration, separated by
tabs. DIR has bare copies Ascend+MindSpeed-LLM/repo, Ascend+MindSpeed/repo and NVIDIA+Megatron-LM/repo, as for benchmarks.npu_memory.
"""

from typing import Any

from benchmarks.npu_memory.runs import Run, arguments, run, table
from benchmarks.npu_times.trainings import CONSTANT, summarise

_HEAD = ("release", "name", "rank", "published ms", "from", "to", "error", "inside", "constant's error", "of the peak")


def main() -> None:
    """Print a line for each configuration, from the slower end of its pipeline, and then a summary of the errors."""
    asked = arguments("benchmarks.npu_times", "Estimate the time of a step of configurations of a CI, beside what NPUs took there.")
    print(*_HEAD, sep="\t", flush=True)
    found = []
    for (release, name), measured in table(asked.table, asked.only).items():
        published = max(one.seconds for one in measured.values())
        if not published:
            continue
        try:
            ran = run(asked, release, name, sorted(measured))
            rank, time = _slower({rank: _time(one) for rank, one in ran.items()})
        except LookupError as problem:
            print(release, name, "", f"not estimated: {problem}", sep="\t", flush=True)
            continue
        errors = time["seconds"] / published - 1, time["utilisation"] * time["seconds"] / CONSTANT / published - 1
        inside = time["low"] <= published <= time["high"]
        found.append((*errors, inside))
        columns = [f"{one * 1e3:.0f}" for one in (published, time["low"], time["high"])]
        columns += [f"{errors[0]:+.1%}", "yes" if inside else "no", f"{errors[1]:+.1%}", f"{time['utilisation']:.0%}"]
        print(release, name, rank, *columns, sep="\t", flush=True)
    summarise(found)


def _slower(times: dict[int, dict[str, Any]]) -> tuple[int, dict[str, Any]]:
    """Return the end of the pipeline that works longer, with times as if the other stages took as long as the other end."""
    rank, time = max(times.items(), key=lambda item: item[1]["seconds"] - item[1]["bubbles"])
    waiting = min(one["bubbles"] for one in times.values())
    scale = 1 - (time["bubbles"] - waiting) / time["seconds"]
    scaled = {name: time[name] * scale for name in ("low", "seconds", "high")}
    return rank, {**time, **scaled, "utilisation": time["utilisation"] / scale}


def _time(ran: Run) -> dict[str, Any]:
    time: dict[str, Any] | None = ran.report.get("time")
    if time is None:
        raise LookupError(f"no step: {ran.problem()}")
    return time


main()
