"""Run one test file as ``python FILE`` does, under the engine, and write what becomes of each test to a file of JSON lines.

A line for each thing as it happens, so that nothing is lost when the process ends in the middle: ``{"tests": [...]}`` before the first
test, ``{"start": TEST}``, ``{"end": TEST, "outcome": ..., "message": ...}``, and ``{"finished": true}``. ``records.py`` reads it.
"""

import multiprocessing.forkserver
import multiprocessing.resource_tracker
import os
import re
import resource
import runpy
import sys
import traceback
import unittest
import unittest.runner
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from .records import write_line as write

LONGEST_MESSAGE = 8000
PRELOADED = ["torch_aclnn", "torch_npu.testing.testcase"]


def name(test: unittest.TestCase) -> str:
    return test.id().removeprefix("__main__.")


def shortened(message: str) -> str:
    half = LONGEST_MESSAGE // 2
    return message if len(message) <= LONGEST_MESSAGE else f"{message[:half]}\n...\n{message[-half:]}"


def cases(suite: unittest.TestSuite | unittest.TestCase) -> Iterator[unittest.TestCase]:
    if isinstance(suite, unittest.TestCase):
        yield suite
    else:
        for member in suite:
            yield from cases(member)


def left_on_the_streams() -> str:
    """Return the failure that the next synchronisation reports, so that it does not meet the next test."""
    import torch

    try:
        if torch.npu.is_initialized():
            torch.npu.synchronize()
    except RuntimeError as error:
        return str(error)
    return ""


class Warnings:
    """The engine's sentences, of which torch_npu shows some as warnings on standard error only."""

    def __init__(self, log: Path) -> None:
        self.log, self.place = log, 0

    def since_last(self) -> str:
        with self.log.open(errors="replace") as file:
            file.seek(self.place)
            text = file.read()
        self.place = self.log.stat().st_size
        return "\n".join(re.findall(r"Warning: (acl\w+: .*) \(function", text))


def seed_what_tests_do_not() -> None:
    """Many tests draw from numpy without a seed: a result must not depend on the run."""
    import numpy

    numpy.random.seed(0)


class Result(unittest.TestResult):
    """Writes down each test, and what it leaves on the streams."""

    def __init__(self, record: Path, warnings: Warnings) -> None:
        super().__init__()
        self.record, self.warnings = record, warnings
        self.outcome, self.message = "passed", ""

    def startTest(self, test):
        super().startTest(test)
        self.outcome, self.message = "passed", ""
        write(self.record, start=name(test))
        seed_what_tests_do_not()

    def stopTest(self, test):
        super().stopTest(test)
        left = left_on_the_streams()
        if left and self.outcome != "skipped":
            self.outcome = "failed"
            self.message += f"\n{left}"
        said = self.warnings.since_last()
        if self.outcome == "failed":
            self.message += f"\n{said}"
        write(self.record, end=name(test), outcome=self.outcome, message=shortened(self.message))

    def _set(self, test, outcome: str, message: str) -> None:
        self.outcome, self.message = outcome, message
        if not isinstance(test, unittest.TestCase):  # an error of setUpClass and the like, whose tests are not started
            write(self.record, end=name(test), outcome=outcome, message=shortened(message))

    def addError(self, test, err):
        super().addError(test, err)
        self._set(test, "failed", self.errors[-1][1])

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._set(test, "failed", self.failures[-1][1])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._set(test, "failed", self._exc_info_to_string(err, test))

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        if self.outcome == "passed":
            self._set(test, "skipped", reason)

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self._set(test, "failed", "AssertionError: a failure was expected")


def keep_what_is_disabled_of(tests: list[unittest.TestCase]) -> None:
    """Leave these tests' rows of the list of disabled tests, which torch_npu reads and searches for each test: it has 32,000 rows."""
    import torch_npu.testing
    from torch.testing._internal.common_utils import remove_device_and_dtype_suffixes

    disabled, slow = torch_npu.testing._get_tests_dict()
    names = {test._testMethodName for test in tests}
    names |= {remove_device_and_dtype_suffixes(name) for name in names}
    of_tests = {row: value for row, value in disabled.items() if row.split(" ")[0] in names}
    torch_npu.testing._get_tests_dict = lambda: (of_tests, slow)


class Runner:
    """Stands in for unittest's TextTestRunner."""

    record: Path
    log: Path
    left_out: frozenset[str]

    def __init__(self, *_arguments: object, **_options: object) -> None:
        pass

    def run(self, suite: unittest.TestSuite) -> unittest.TestResult:
        tests = [test for test in cases(suite) if name(test) not in self.left_out]
        write(self.record, tests=[name(test) for test in tests])
        keep_what_is_disabled_of(tests)
        result = Result(self.record, Warnings(self.log))
        type(suite)(tests).run(result)
        return result


def fix_hypothesis() -> None:
    """Make hypothesis draw the same examples in each run, without a deadline."""
    try:
        import hypothesis
    except ImportError:
        return
    hypothesis.settings.register_profile("client_suites", derandomize=True, deadline=None, database=None)
    hypothesis.settings.load_profile("client_suites")


def start_server_by_fork() -> None:
    """Start multiprocessing's server as a copy of this process, which has the imports and has not used the device."""

    def fork(_path: str, arguments: list[str], _descriptors: list[int]) -> int:
        pid = os.fork()
        if pid == 0:
            exec(arguments[-1], {})
            os._exit(0)
        return pid

    multiprocessing.resource_tracker.ensure_running()
    with mock.patch("multiprocessing.util.spawnv_passfds", fork):
        multiprocessing.forkserver.ensure_running()


class Forked(multiprocessing.context.ForkServerProcess):
    """A process of the server, with the environment that it would have if it were spawned."""

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "environment": dict(os.environ)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        os.environ.update(state.pop("environment"))
        self.__dict__.update(state)


def fork_what_is_to_be_spawned() -> None:
    """Let the processes that tests start have the imports of this one, or, once it uses the device, of a server: they take seconds."""
    import torch.multiprocessing

    fork, server = multiprocessing.get_context("fork"), multiprocessing.get_context("forkserver")
    start_server_by_fork()
    server.Process = Forked

    def with_imports(_method: str | None = None) -> multiprocessing.context.BaseContext:
        return server if torch.npu.is_initialized() else fork

    multiprocessing.get_context = torch.multiprocessing.get_context = with_imports


def run(directory: Path, file: str, record: Path, log: Path, memory: int, left_out: frozenset[str]) -> None:
    """Run the file without some of its tests, in a process of its own that may use so many bytes of memory."""
    os.setsid()
    multiprocessing.set_start_method("fork", force=True)  # Linux's default, not the one by which this process was started
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    fork_what_is_to_be_spawned()
    os.chdir(directory)
    path = directory / file
    Runner.record, Runner.log, Runner.left_out = record, log, left_out
    unittest.runner.TextTestRunner = unittest.TextTestRunner = Runner
    sys.path[:0] = [str(path.parent), str(directory)]
    sys.argv = [str(path)]
    try:
        import torch_aclnn  # noqa: F401  # loads the engine

        fix_hypothesis()
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit:
        pass
    except BaseException:
        write(record, end="(file)", outcome="failed", message=shortened(traceback.format_exc()))
    write(record, finished=True)
