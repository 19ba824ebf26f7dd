"""A program in C that destroys a handle between the phases of each operator; the calls in it are generated from the operators' table."""

import os
import subprocess
from pathlib import Path

import pytest
from torch_aclnn.loading.modes import host_mode
from torch_aclnn.loading.paths import includedir

from support.compiler import c_program
from support.marks import of_a2_and_a3
from support.operators import ENTRY_POINTS
from support.tensors import Tensor


def c_argument(value):
    """Return the C expression that makes an argument."""
    if isinstance(value, Tensor):
        return f"tensor({len(value.shape)}, (const int64_t[]){{{', '.join(map(str, value.shape))}}}, (aclDataType){int(value.dtype)})"
    if isinstance(value, tuple):
        return f"aclCreateIntArray((const int64_t[]){{{', '.join(map(str, value))}}}, {len(value)})"
    return str(int(value))


def c_call(entry_point):
    """Return a block that calls phase 1, destroys the first argument, and calls phase 2."""
    first, *others = (c_argument(value) for value in entry_point.good.values())
    arguments = ", ".join(["first", *others, "&size", "&executor"])
    phase1 = f"CHECK({entry_point.name}GetWorkspaceSize({arguments}) == ACLNN_SUCCESS);"
    return f"{{ aclTensor* first = {first}; {phase1} DESTROY_AND_RUN({entry_point.name}, first); }}\n"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Compile the program; return what runs it and returns its lines."""
    directory = tmp_path_factory.mktemp("destroyed_handles")
    headers = sorted(path.name for path in (includedir() / "aclnnop").glob("*.h"))
    (directory / "headers.h").write_text("".join(f'#include "aclnnop/{header}"\n' for header in headers))
    (directory / "calls.h").write_text("".join(map(c_call, ENTRY_POINTS.values())))
    source = Path(__file__).with_name("destroyed_handles.c")
    program = c_program(source, directory / "destroyed_handles", [f"-I{directory}"])

    def run(**environment):
        ended = subprocess.run([str(program)], capture_output=True, text=True, check=True, timeout=60, env={**os.environ, **environment})
        return ended.stdout.splitlines()

    return run


@pytest.fixture(scope="module")
def printed(run):
    return run()


@of_a2_and_a3
def test_handles_are_kept_on_request(run):
    assert run(**host_mode("keep_handles", without=("strict", "unspecified"))) == [f"{name} 0 " for name in ENTRY_POINTS]


@pytest.mark.parametrize("name", ENTRY_POINTS)
@of_a2_and_a3
def test_handle_destroyed_between_the_phases_is_refused_in_a_c_program(printed, name):
    assert len(printed) == len(ENTRY_POINTS)
    assert printed[list(ENTRY_POINTS).index(name)] == (
        f"{name} 161002 {name}: {ENTRY_POINTS[name].first}: expected the aclTensor of phase 1 until phase 2 has been called, "
        "got one that was destroyed between the phases"
    )
