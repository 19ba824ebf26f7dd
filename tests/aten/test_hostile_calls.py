"""No input of another shape, and no integer that is no position, ends the process or writes outside of the tensors."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sound_calls import ENTRY_POINTS

PROGRAM = Path(__file__).with_name("hostile_calls.py")


@pytest.mark.slow
def test_hostile_calls_are_refused_or_computed():
    modules = os.pathsep.join(str(folder) for folder in (PROGRAM.parent, PROGRAM.parents[1]))
    found, number = [], 0
    while number < len(ENTRY_POINTS):
        command = [sys.executable, PROGRAM, str(number)]
        done = subprocess.run(command, env=os.environ | {"PYTHONPATH": modules}, capture_output=True, text=True, timeout=600)
        lines = done.stdout.splitlines()
        found += [line for line in lines if not line.isdigit()]
        last = max((int(line) for line in lines if line.isdigit()), default=number)
        if done.returncode != 0:
            found.append(f"{ENTRY_POINTS[last]} ended the process with status {done.returncode}: {done.stderr[-300:]}")
        number = last + 1
    assert found == []
