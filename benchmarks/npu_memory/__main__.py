"""Run configurations of MindSpeed-LLM's CI in dry runs, beside the memory that NPUs measured there.

python -m benchmarks.npu_memory TABLE --checkouts DIR

TABLE has a line for each rank: release, name of the script, rank, MiB allocated and their peak after the first iteration, separated by
tabs, as Megatron prints them. DIR has bare copies Ascend+MindSpeed-LLM/repo, Ascend+MindSpeed/repo and NVIDIA+Megatron-LM/repo. Of a
script only paths of data, tokenizers and checkpoints are changed.
"""

import re

from benchmarks.npu_memory.runs import Measured, Run, arguments, run, table

_MEMORY = r"\[Rank {}\] \(after 1 iterations\) memory \(MB\) \| allocated: ([\d.]+) \| max allocated: ([\d.]+)"
_HEAD = ("release", "name", "rank", "allocated", "ours", "error", "max allocated", "ours", "error", "exit code")


def main() -> None:
    """Print the lines of each script once its ranks have run."""
    asked = arguments("benchmarks.npu_memory", "Run configurations of a CI in dry runs, beside the memory that NPUs measured there.")
    print(*_HEAD, sep="\t", flush=True)
    for (release, name), measured in table(asked.table, asked.only).items():
        try:
            ran = run(asked, release, name, sorted(measured))
        except LookupError as error:
            print(release, name, "", f"not run: {error}", sep="\t", flush=True)
            continue
        for rank, one in ran.items():
            print(release, name, rank, *_beside(one, rank, measured[rank]), sep="\t", flush=True)


def _beside(ran: Run, rank: int, measured: Measured) -> list[str]:
    """Return both figures beside those of the NPU, or the run's message if it failed."""
    found = re.search(_MEMORY.format(rank), ran.printed)
    if found is None:
        return [f"no figure: {ran.problem()}"]
    columns = []
    for theirs, ours in zip((measured.allocated, measured.most), map(float, found.groups()), strict=True):
        columns += [f"{theirs:.1f}", f"{ours:.1f}", f"{(ours / theirs - 1):+.3%}"]
    return [*columns, str(ran.report["fits"]["code"]) if ran.report else "-"]


main()
