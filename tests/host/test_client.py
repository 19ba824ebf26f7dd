"""C and C++ programs against the public headers, without torch."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from torch_aclnn.command import locations

ROOT = Path(__file__).parents[2]
SAMPLE = """\
gradOutput 1x16x1x1, all ones; gradInput 1x16x4x4
sum of gradInput: 16
its first corner: 0.0625 0.0625
                  0.0625 0.0625
"""
PROGRAMS = {"client": ROOT / "examples" / "aclnn_client.cpp", "handles": Path(__file__).parent / "opapi" / "handles.cpp"}


@pytest.fixture(scope="session")
def compiler():
    found = shutil.which("g++")
    if found is None:
        pytest.skip("no g++ on the path")
    return found


@pytest.fixture(scope="session")
def programs(compiler, tmp_path_factory):
    """Compile the programs with the command that the example's own comment gives."""
    directory = tmp_path_factory.mktemp("programs")
    warnings = ["-Wall", "-Wextra", "-Werror"]
    flags = shlex.split(" ".join(locations.config({"cflags", "libs"})))
    for name, source in PROGRAMS.items():
        subprocess.run([compiler, "-std=c++17", *warnings, source, "-o", directory / name, *flags], check=True)
    return directory


def run(*command, **settings):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TORCH_ACLNN_HOST_")}
    kept.pop("LD_LIBRARY_PATH", None)  # the program's own search path must suffice
    return subprocess.run([*map(str, command)], env=kept | settings, capture_output=True, text=True, timeout=300)


def test_client_prints_the_documented_sample(programs):
    ended = run(programs / "client")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == SAMPLE


def test_client_runs_as_every_generation_of_product(programs):
    for soc in ("Ascend310P3", "Ascend950"):
        ended = run(programs / "client", TORCH_ACLNN_HOST_SOC=soc)
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout == SAMPLE


def test_client_stops_with_the_function_the_code_and_the_message(programs):
    ended = run(programs / "client", TORCH_ACLNN_HOST_SOC="Ascend1")
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert ended.stderr.startswith("aclInit failed with code 1")
    assert "TORCH_ACLNN_HOST_SOC: expected one of" in ended.stderr


def test_handles_are_made_and_released(programs):
    ended = run(programs / "handles")
    assert ended.returncode == 0, ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_lost_read_or_freed_wrongly(programs, name):
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        pytest.skip("no valgrind on the path")
    checks = ["--error-exitcode=99", "--leak-check=full", "--errors-for-leak-kinds=definite,indirect,possible"]
    ended = run(valgrind, *checks, programs / name, OMP_NUM_THREADS="1", TORCH_ACLNN_HOST_THREADS="1")
    assert ended.returncode == 0, ended.stderr
