"""Starting the processes that make calls, and starting another one behind the call that ended one."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).parents[2]
NUMBER_SIZE, TEXT_SIZE = 8, 8000  # bytes of the number and the text of its last call that a process leaves
SECONDS = 900  # the limit for a call or the start of a process, which take long on a busy machine


class Finding(NamedTuple):
    """A call that broke the contract."""

    number: int
    entry_point: str
    wrong: str
    call: str


class Calls:
    """Calls of a seed, or the generated ones of the seed "each"."""

    def __init__(self, seed: str) -> None:
        self.seed = seed
        self.made: Counter[str] = Counter()
        self.findings: list[Finding] = []

    def run(self, first: int, end: int) -> Iterator[Finding]:
        """Make the calls of these numbers, and yield what is found."""
        while first < end:
            with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as errors:
                last_call, found = Path(folder, "last_call"), Path(folder, "found")
                last_call.write_bytes(first.to_bytes(NUMBER_SIZE, "little") + bytes(TEXT_SIZE))
                command = [sys.executable, "-m", "hostile_calls.child", self.seed, str(first), str(end), str(last_call), str(found)]
                modules = os.pathsep.join([str(TESTS / "aten"), str(TESTS), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
                environment = {"OMP_NUM_THREADS": "1"} | os.environ | {"PYTHONPATH": modules}
                process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, env=environment)
                code = self._end_of(process, last_call)
                last, text = self._last(last_call)
                errors.seek(0)
                for line in map(json.loads, found.read_text().splitlines() if found.exists() else ()):
                    if isinstance(line, dict):
                        self.made.update(line)
                    else:
                        yield self._found(Finding(*line))
                if code == 0:
                    return
                yield self._found(
                    Finding(last, text.partition("(")[0], f"the process ended with status {code}", f"{text}\n{errors.read()[-2000:]}")
                )
                first = last + 1

    @staticmethod
    def _last(file: Path) -> tuple[int, str]:
        """Return the number of the call that was made last, and its text."""
        content = file.read_bytes()
        return int.from_bytes(content[:NUMBER_SIZE], "little"), content[NUMBER_SIZE:].rstrip(b"\0").decode(errors="replace")

    def _found(self, finding: Finding) -> Finding:
        self.findings.append(finding)
        return finding

    @staticmethod
    def _end_of(process: subprocess.Popen, file: Path) -> int:
        number, since = b"", time.monotonic()
        while True:
            try:
                return process.wait(timeout=1)
            except subprocess.TimeoutExpired:
                now = file.read_bytes()
                if now != number:
                    number, since = now, time.monotonic()
                elif time.monotonic() - since > SECONDS:
                    process.kill()
                    process.wait()
                    return -9
