"""Launchers of several processes in a dry run: one of the ranks that they would start takes the launcher's place.

torchrun, `accelerate launch` and the command lines of trainers all come to torch's elastic launcher; DeepSpeed has its own.
"""

import functools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from torch_aclnn.loading import rank_alone

_TORCH, _DEEPSPEED = "torch.distributed.launcher.api", "deepspeed.launcher.runner"


_rank = 0


def watch(rank: int) -> None:
    """Have this rank take the place of launchers, also of those that are imported later."""
    global _rank
    _rank = rank
    for name in CHANGES:
        if name in sys.modules:
            CHANGES[name](sys.modules[name])
        else:
            sys.modules["torch_aclnn_import_hook"].Finder.watched += (name,)


@contextmanager
def around_execution(fullname: str) -> Iterator[None]:
    """Change a launcher after its execution."""
    yield
    CHANGES[fullname](sys.modules[fullname])


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
        own = max(parsed.num_gpus, 1)
        python = [] if parsed.no_python else [sys.executable, "-u", *(["-m"] if parsed.module else [])]
        _become([*python, parsed.user_script, *parsed.user_args], max(parsed.num_nodes, 1) * own, own)

    runner.main = main


def _become(command: Sequence[str], size: int, local_size: int) -> None:
    """Go on as the program of one rank; the others are not there."""
    if not _rank < size:
        raise SystemExit(f"torch-aclnn dryrun: --rank: expected 0 to {size - 1}, since the launcher starts {size}, got {_rank}")
    environment = os.environ | rank_alone.variables(_rank, size, local_size) | {rank_alone.VARIABLE: str(int(size > 1))}
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os.execvpe(command[0], list(command), environment)


CHANGES: dict[str, Callable[[Any], None]] = {_TORCH: _torch, _DEEPSPEED: _deepspeed}
