"""Running Python in a process of its own, where the environment decides what is loaded."""

import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

from torch_aclnn.loading.cann import TOOLKIT_VARIABLES

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


def run_python(code: str, *, launcher: tuple[str, ...] = (sys.executable, "-c"), **environment: str) -> subprocess.CompletedProcess:
    """Run the code in a new process that has inherited nothing of the engine which this one has loaded."""
    return subprocess.run(
        [*launcher, *([textwrap.dedent(code)] if code else [])],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tempfile.gettempdir(),  # python -c would import a source tree from here instead of the installed package
        env=environment_with(**environment),
    )


def output_of(code: str, **options) -> str:
    """Return what the code prints; fail with its error output if it does not end well."""
    done = run_python(code, **options)
    assert done.returncode == 0, f"ended with status {done.returncode}\n{done.stderr[-4000:]}"
    return done.stdout.strip()
