"""Compiling a small shared library that a test loads."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest


def shared_library(source: Path, target: Path, options: Sequence[str] = (), libraries: Sequence[str] = ()) -> Path:
    """Compile the C++ source to a shared library and return its path; skip the test where there is no compiler."""
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    subprocess.run([compiler, "-fPIC", "-shared", *options, str(source), "-o", str(target), *libraries], check=True)
    return target
