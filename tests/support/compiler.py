"""Compiling a small shared library that a test loads, or a program that it runs."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from torch_aclnn.loading.paths import includedir, libdir


def shared_library(source: Path, target: Path, options: Sequence[str] = (), libraries: Sequence[str] = ()) -> Path:
    """Compile the C++ source to a shared library and return its path; skip the test where there is no compiler."""
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    subprocess.run([compiler, "-fPIC", "-shared", *options, str(source), "-o", str(target), *libraries], check=True)
    return target


def c_program(source: Path, target: Path, options: Sequence[str] = ()) -> Path:
    """Compile the C source to a program that links the engine and return its path; skip the test where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    link = [f"-L{libdir()}", "-lascendcl", "-lopapi", f"-Wl,-rpath,{libdir()}", f"-Wl,-rpath-link,{libdir()}"]
    strict_c = ["-std=c11", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([compiler, *strict_c, f"-I{includedir()}", *options, str(source), "-o", str(target), *link], check=True)
    return target
