"""Streams whose work is done later, by a thread of their own: TORCH_ACLNN_HOST_MODE=async and TORCH_ACLNN_HOST_DELAYS."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from torch_aclnn.loading.modes import host_mode
from torch_aclnn.loading.paths import libdir

PROGRAM = Path(__file__).parent / "programs" / "streams.py"
TESTS = Path(__file__).parents[1]


def run(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(PROGRAM), str(libdir() / "libascendcl.so"), *arguments]
    environment = os.environ | settings | {"PYTHONPATH": str(TESTS), "TORCH_ACLNN_IMPORT_HOOK": "0"}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)


@pytest.fixture(scope="module", params=["asynchronous", "delayed"])
def found(request: pytest.FixtureRequest) -> dict:
    done = run(**(host_mode("async") if request.param == "asynchronous" else {"TORCH_ACLNN_HOST_DELAYS": "7"}))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


EXPECTED = {
    "queries": [False, False, True, True],
    "order on one stream": [*range(1000)],
    "order by an event": ["released", "first", "second"],
    "wait is for the record before it": [True, False, True],
    "destroyed while busy": [["ran", "destroyed"]] * 2,
    "launched by a callback": ["inner"],
    "far ahead": 40_000,
}


@pytest.mark.parametrize("case", EXPECTED)
def test_work_is_done_later_and_in_order(found, case):
    assert found[case] == EXPECTED[case]


def test_elapsed_time_is_that_of_the_work(found):
    assert found["elapsed"] >= 50


def test_synchronisation_gives_up_after_its_timeout(found):
    code, message, after = found["timeout"]
    assert (code, after) == (107020, 0)
    assert "still runs after 20 ms" in message


def test_memory_that_was_freed_before_its_use_is_an_error(found):
    code, message = found["freed before use"]
    assert code != 0
    assert "aclrtMemsetAsync" in message and "freed" in message


def test_forked_process_is_refused(found):
    code, message, finalized = found["forked"]
    assert (code, finalized) == (107002, 0)
    assert "was forked from one that uses the devices" in message


def test_process_waits_for_its_streams_as_it_ends():
    done = run("end busy", **host_mode("async"))
    assert done.returncode == 0, done.stderr
