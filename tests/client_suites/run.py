"""Running test files, each in a process of its own, with a limit of time and memory."""

import signal
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

from . import child
from .processes import FORKS, Processes
from .records import Record, read_record, write_line

END_OF_LOG = 2000

FORKS.set_forkserver_preload(child.PRELOADED)


@dataclass
class Runner:
    """Runs the files of a directory, and keeps a record and a log of each under another."""

    directory: Path
    results: Path
    jobs: int
    timeout: float
    memory: int
    _processes: Processes = field(default_factory=Processes)
    _over: bool = False

    def record_of(self, file: str) -> Path:
        return self.results / f"{file}.jsonl"

    def run(self, files: Sequence[str]) -> Iterator[tuple[str, Record]]:
        """Run the files, and yield each with its record as it ends."""
        self._processes.run(int, ())  # imports before the first file, so that they are not part of its time
        pool = ThreadPoolExecutor(self.jobs)
        running = {pool.submit(self.run_file, file): file for file in files}
        try:
            for future in as_completed(running):
                yield running[future], future.result()
        finally:
            self._over = True
            pool.shutdown(wait=False, cancel_futures=True)
            self._processes.end()

    def run_file(self, file: str) -> Record:
        """Run a file; after a test that ends the process, go on with the tests behind it."""
        path = self.record_of(file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        deadline = time.monotonic() + self.timeout
        while True:
            code = self._run_process(file, path, deadline)
            record = read_record(path)
            if self._over:
                return record
            if code is None:
                left = [record.running or "(file)", *(test for test in record.listed if test not in record.tests)]
                for test in dict.fromkeys(left):
                    write_line(path, end=test, outcome="timed out", message=f"the file took more than {self.timeout:g} s")
            elif record.finished and code == 0:
                return record
            else:
                ending = signal.Signals(-code).name if code < 0 else f"exit code {code}"
                log = path.with_suffix(".log").read_text(errors="replace")[-END_OF_LOG:]
                write_line(path, end=record.running or "(file)", outcome="crashed", message=f"{log}\nprocess ended: {ending}")
            if code is None or record.running is None:
                write_line(path, finished=True)
                return read_record(path)

    def _run_process(self, file: str, record: Path, deadline: float) -> int | None:
        """Run the tests that have no record; return the exit code, or None after the deadline."""
        done = frozenset(test for test in read_record(record).tests if test != "(file)")
        arguments = (self.directory, file, record, record.with_suffix(".log"), self.memory, done)
        record.with_suffix(".log").touch()
        return self._processes.run(child.run, arguments, 0 if self._over else max(0.0, deadline - time.monotonic()))
