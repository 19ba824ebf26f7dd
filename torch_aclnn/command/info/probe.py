"""Imports torch, torch_npu and the package in a separate process, which may crash, and reports how far it came."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_SECONDS = 120
_LINES = 3  # as many of its standard error are kept
_BANNER = "torch_aclnn: this is the host engine"  # the engine prints it at aclInit

_START = """\
import sys
sys.path[:] = {path!r}
from torch_aclnn_command import bare_package
with bare_package():
    from torch_aclnn.command.info.probe_process import main
main({report!r}, {imports!r})
"""


@dataclass
class Found:
    """The findings of the process.

    Attributes:
        facts: what it reported until its end.
        stage: what it did last, such as ``"import torch"``.
        problem: why it did not come to its end, or None.
        said: the last lines of its standard error, if it could not tell the problem itself.

    """

    facts: dict[str, Any] = field(default_factory=dict)
    stage: str = "start of Python"
    problem: str | None = None
    said: str = ""

    def read(self, report: Path) -> None:
        """Add what the process wrote; its last line may be incomplete."""
        for line in report.read_text(errors="replace").splitlines():
            try:
                key, value = json.loads(line)
            except ValueError:
                break
            if key == "stage":
                self.stage = value
            elif key == "problem":
                self.problem = value
            else:
                self.facts[key] = value


def probe(*, imports: bool, seconds: float = _SECONDS) -> Found:
    """Run the process and return what it found.

    Args:
        imports: whether torch_npu and the package shall be imported, not only torch.
        seconds: the time after which it is ended.

    """
    found = Found()
    with tempfile.TemporaryDirectory(prefix="torch_aclnn_") as directory:
        report, errors = Path(directory, "report"), Path(directory, "errors")
        report.touch()
        code = _run(_START.format(path=sys.path, report=str(report), imports=imports), errors, seconds)
        found.read(report)
        if found.problem is None and code != 0:
            found.problem = f"{found.stage}: {_ending(code, seconds)}"
            lines = [line.strip() for line in errors.read_text(errors="replace").splitlines()]
            said = [line for line in lines if line and not line.startswith(_BANNER)]
            found.said = "\n".join(said[-_LINES:])
    return found


def _run(code: str, errors: Path, seconds: float) -> int | None:
    """Return the process's exit code, or None if it took too long."""
    with errors.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=output,
            env={**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},  # torch_npu is imported after torch, so that it is known which fails
            start_new_session=True,
        )
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _ending(code: int | None, seconds: float) -> str:
    if code is None:
        return f"not at its end after {seconds:g} s"
    if code < 0:
        return f"the process was ended by {signal.Signals(-code).name}"
    return f"the process ended with code {code}"
