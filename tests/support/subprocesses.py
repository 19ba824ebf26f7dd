"""Running Python in a process of its own, where the environment decides what is loaded."""

import functools
import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from torch_aclnn.loading.cann import TOOLKIT_VARIABLES
from torch_aclnn.loading.modes import host_mode as host_mode  # imported by tests whose processes have other modes than the tests

from support.forks import Fork, ForkServer

COMMAND = str(Path(sys.executable).parent / "torch-aclnn")
NOT_INHERITED = ("LD_LIBRARY_PATH", "TORCH_DEVICE_BACKEND_AUTOLOAD", *TOOLKIT_VARIABLES)

# What a process begins with that goes through the functions.
EACH_FUNCTION = f"""
import sys; sys.path.append({str(Path(__file__).parents[1])!r})
import torch_aclnn, torch
from support.functions import CASES, gradient
torch.manual_seed(0)
"""


def environment_with(**changes: str) -> dict[str, str]:
    """Return the environment for a new process that inherits nothing of the engine which this one has loaded."""
    return {**{name: value for name, value in os.environ.items() if name not in NOT_INHERITED}, **changes}


@functools.cache
def fork_server() -> ForkServer:
    """Return the process whose copies run programs, which is started at the first call."""
    return ForkServer(environment_with(TORCH_DEVICE_BACKEND_AUTOLOAD="0"))


def start(
    command: Sequence[str], out: IO, err: IO, *, environment: dict[str, str], directory: str, session: bool = False, new: bool = False
) -> Fork | subprocess.Popen:
    """Start a command that reads nothing and writes to two files.

    A program that may find torch imported runs in a copy of a process that has done so, unless it shall be a ``new`` one.
    """
    with open(os.devnull) as nothing:
        if not new and fork_server().can_run(command, environment):
            streams = [file.fileno() for file in (nothing, out, err)]
            return fork_server().start(command, streams, environment=environment, directory=directory, session=session)
        return subprocess.Popen(
            command, stdin=nothing, stdout=out, stderr=err, env=environment, cwd=directory, start_new_session=session
        )  # fmt: skip


def run_python(
    code: str, *, launcher: tuple[str, ...] = (sys.executable, "-c"), new: bool = False, **changes: str
) -> subprocess.CompletedProcess:
    """Run the code in a process that has inherited nothing of the engine which this one has loaded, and wait for it.

    Whether the process is a ``new`` one matters where imports are what is tested (`start`).
    """
    command = (*launcher, *([textwrap.dedent(code)] if code else []))
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        # python -c would import a source tree from the working directory instead of the installed package.
        process = start(command, out, err, environment=environment_with(**changes), directory=tempfile.gettempdir(), new=new)
        try:
            returncode = process.wait(300)
        finally:
            process.kill()
        for file in (out, err):
            file.seek(0)
        return subprocess.CompletedProcess(command, returncode, out.read(), err.read())


def output_of(code: str, **options) -> str:
    """Return what the code prints; fail with its error output if it does not end well."""
    done = run_python(code, **options)
    assert done.returncode == 0, f"ended with status {done.returncode}\n{done.stderr[-4000:]}"
    return done.stdout.strip()
