"""What only the 950 has, in a process that presents it: the tests with the mark, wherever they are."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.entry_point import UNTOLD
from support.marks import PRODUCT


@pytest.mark.skipif(PRODUCT == "950", reason="what it starts")
def test_what_is_of_the_950():
    files = [str(file) for file in Path(__file__).parent.glob("*/test_*.py") if "of_the_950" in file.read_text()]
    command = [sys.executable, "-m", "pytest", "-q", "-m", "of_the_950", "-p", "no:cacheprovider", "-p", "no:xdist", *files]
    subprocess.run(command, env=os.environ | {"TORCH_ACLNN_HOST_SOC": UNTOLD[0]}, check=True)
