"""Launchers of several processes in a dry run: the launcher runs one of the ranks in its own process.

torchrun, `accelerate launch` and the command lines of trainers all come to torch's elastic launcher; DeepSpeed has its own.
"""

import functools
import os
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from torch_aclnn.loading import changes, rank_alone

_TORCH, _DEEPSPEED = "torch.distributed.launcher.api", "deepspeed.launcher.runner"


_rank = 0


def watch(rank: int) -> None:
    """Make launchers run this rank in their own process, also those that are imported later."""
    global _rank
    _rank = rank
    changes.make({_TORCH: _torch, _DEEPSPEED: _deepspeed})


def _torch(api: Any) -> None:
    launch = api.launch_agent

    @functools.wraps(launch)
    def launched(config: Any, entrypoint: Any, args: Sequence[Any], *others: Any, **options: Any) -> Any:
        if not isinstance(entrypoint, str):
            return launch(config, entrypoint, args, *others, **options)
        return _become([entrypoint, *map(str, args)], config.max_nodes * config.nproc_per_node, config.nproc_per_node)

    api.launch_agent = launched


def _deepspeed(runner: Any) -> None:
    def main(args: Any = None) -> None:
        parsed = runner.parse_args(args)
        hosts = _hosts(runner, parsed)
        python = [] if parsed.no_python else [sys.executable, "-u", *(["-m"] if parsed.module else [])]
        _become([*python, parsed.user_script, *parsed.user_args], sum(hosts), hosts[0])

    runner.main = main


def _hosts(runner: Any, parsed: Any) -> list[int]:
    """Return how many processes DeepSpeed would start on each host, the same number on all."""
    pool = runner.fetch_hostfile(parsed.hostfile)
    slots = [int(slot) for slot in re.findall(r"\d+", parsed.include.rpartition(":")[2])] if ":" in parsed.include else []
    if pool is None and not slots and (parsed.include or parsed.exclude):
        _refuse("--include, --exclude: expected slots as in localhost:0,1, or a hostfile, since nothing else tells how many there are")
    if pool is None and not slots:
        return [max(parsed.num_gpus, 1)] * max(parsed.num_nodes, 1)
    chosen = runner.parse_inclusion_exclusion(pool or {"localhost": max(slots) + 1}, parsed.include, parsed.exclude)
    hosts = [parsed.num_gpus if parsed.num_gpus > 0 else len(each) for each in chosen.values()]
    hosts = hosts[: parsed.num_nodes] if parsed.num_nodes > 0 else hosts
    if len(set(hosts)) != 1:
        _refuse(f"deepspeed: expected the same number of processes on each host, got {', '.join(map(str, hosts)) or 'none'}")
    return hosts


def _refuse(text: str) -> NoReturn:
    print(f"torch-aclnn dryrun: {text}", file=sys.stderr)
    raise SystemExit(2)


def _become(command: Sequence[str], size: int, local_size: int) -> None:
    """Run the program as one rank in this process; no other rank is started."""
    if not _rank < size:
        _refuse(f"--rank: expected 0 to {size - 1}, since the launcher starts {size}, got {_rank}")
    environment = os.environ | rank_alone.variables(_rank, size, local_size) | {rank_alone.VARIABLE: str(int(size > 1))}
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os.execvpe(command[0], list(command), environment)
