"""Arguments that hypothesis draws, for operators and functions, in a process of its own: a crash is a failure that names its call."""

import sys
from pathlib import Path

import pytest

from support.functions import NO_UNPOOLING_WITHOUT_DATA
from support.marks import skip_with
from support.subprocesses import run_python

PROGRAM = Path(__file__).parents[1] / "support" / "hostile_arguments.py"


def run(device: str, examples: int, file: Path) -> None:
    ended = run_python("", launcher=(sys.executable, str(PROGRAM), device, str(examples), str(file)))
    last = file.read_text() if file.exists() else "none"
    assert ended.returncode == 0 and ended.stdout.endswith("ended well\n"), f"at {last}: {ended.stderr[-6000:]}"


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_hostile_arguments_raise_or_give_the_references_value(device, tmp_path):
    skip_with(*NO_UNPOOLING_WITHOUT_DATA)
    run(device, 150, tmp_path / "last_call")


@pytest.mark.exhaustive
@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_many_hostile_arguments_raise_or_give_the_references_value(device, tmp_path):
    run(device, 3000, tmp_path / "last_call")
