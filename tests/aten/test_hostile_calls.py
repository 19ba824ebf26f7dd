"""Hostile arguments of every entry point are refused, or computed without a byte changed that is no output's."""

import subprocess
import sys

import pytest
from hostile_calls.supervise import Calls

DRAWN = 8000  # about a minute


@pytest.mark.exhaustive
def test_each_input_in_other_shapes_and_full_of_what_may_be_no_positions():
    assert list(Calls("each").run(0, sys.maxsize)) == []


@pytest.mark.slow
def test_drawn_calls_keep_the_contract():
    calls = Calls("20")
    assert list(calls.run(0, DRAWN)) == []
    # Some of each kind: otherwise the draw makes nothing any more that tests the rest.
    assert 0.2 * DRAWN < calls.made["computed"] < 0.8 * DRAWN
    assert 0 < calls.made["late"] < 0.3 * DRAWN


@pytest.mark.slow
def test_the_command_repeats_a_call():
    command = [sys.executable, "-m", "tests.aten.hostile_calls", "--seed", "20", "--only", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert "0 findings; " in done.stdout and " entry points of 1 were computed" in done.stdout, done.stderr
