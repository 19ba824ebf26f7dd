"""A variable that cannot be understood is an error that names it: each one that docs/environment.md has in its table."""

import json
import re
from pathlib import Path

import pytest
from torch_aclnn.command.info.variables import OF_COMMANDS, VARIABLES
from torch_aclnn.loading.modes import WORDS

from support.subprocesses import run_python

PAGE = Path(__file__).parents[2] / "docs" / "environment.md"
DOCUMENTED = re.findall(r"^\| `(TORCH_ACLNN_\w+)` \|", PAGE.read_text(), re.MULTILINE)
DOCUMENTED_MODES = re.findall(r"^\| `(\w+)` \|", PAGE.read_text().partition("\n## Modes\n")[2].partition("\n## ")[0], re.MULTILINE)
MODE = "TORCH_ACLNN_HOST_MODE"
NOT_0_OR_1 = ("yes", "2", "-1", "01", " 1", "1 ", "0x1", "true", "\u0661")
NO_COUNT = ("0", "-1", "two", "4x", "1.5", "99999999999999999999", "0x2", "1 2")
# What each one is not. Paths are opened where they are written to, which has tests of its own.
MALFORMED = {
    "TORCH_ACLNN_ENGINE": ("npu", "Host", "1"),
    "TORCH_ACLNN_IMPORT_HOOK": ("yes", "2", "-1"),
    "TORCH_ACLNN_ISA": ("sse9", "AVX2", "scalar ", "0"),
    "TORCH_ACLNN_HOST_SOC": ("Ascend910B7", "ascend910b3", "910B3", "Ascend910B3 "),
    "TORCH_ACLNN_HOST_CANN": ("8.4", "9.0.0 "),
    "TORCH_ACLNN_LOOP": ("planes,rows", "Rows", " rows"),
    "TORCH_ACLNN_HOST_DEVICES": (*NO_COUNT, "65"),
    "TORCH_ACLNN_HOST_MEMORY": (
        "lots",
        "8GB",
        "-1",
        "1K",
        "0",
        "99999999999G",
        "18446744073709551615",
        "18446744073709551616",
        "1e9",
        " 8G",
    ),
    "TORCH_ACLNN_HOST_KNOWN": ("lots", "-1", "1e9"),
    "TORCH_ACLNN_HOST_EXPERT_LOAD": ("much", "-1", "2.1", "nan"),
    "TORCH_ACLNN_HOST_THREADS": (*NO_COUNT, "4097"),
    "TORCH_ACLNN_HOST_TRACE": (),
    MODE: ("1", "Strict", "strict leaks", "strict;leaks", "leaks, strct", "strict,float64", "float64 , unspecified", "keep_handles,strict"),
    "TORCH_ACLNN_HOST_DELAYS": ("-1", "x", "2147483648", "1.5"),
    "TORCH_ACLNN_HOST_FAULT": (),
    **{f"TORCH_ACLNN_HOST_{name}": NOT_0_OR_1 for name in ("COMPUTE", "CHECK_COLLECTIVES", "RANK_ALONE")},
}
# Variables of earlier releases, and what is set now.
FORMER = {
    "TORCH_ACLNN_HOST_LIBRARIES": "a directory in ASCEND_CUSTOM_OPP_PATH",
    **{f"TORCH_ACLNN_HOST_{word.upper()}": f"{MODE}={word}" for word in WORDS},
}
OF_THE_ENGINE = [
    *((name, value) for name, values in MALFORMED.items() if "_HOST_" in name or name.endswith(("_ISA", "_LOOP")) for value in values),
    *((name, value) for name in FORMER for value in "01"),
]
UNDERSTOOD = ("", " ", "leaks", " strict , leaks,", ",async", ",".join(word for word in WORDS if word not in ("float64", "keep_handles")))
OF_PYTHON = [(name, value) for name in ("TORCH_ACLNN_ENGINE", "TORCH_ACLNN_IMPORT_HOOK", "TORCH_ACLNN_LOOP") for value in MALFORMED[name]]

# Each value is tried in a forked process, whose parent has not called the engine yet.
ASK_EACH = """
import json, os
libc = ctypes.CDLL(None)
for name, value in asked:
    if os.fork() == 0:
        libc.setenv(name.encode(), value.encode(), 1)
        print(json.dumps([name, value, acl.aclInit(None), message(), acl.aclrtSetDevice(0)]), flush=True)
        os._exit(0)
    os.wait()
"""


@pytest.fixture(scope="module")
def answers(run_engine):
    """What aclInit and aclrtSetDevice answer to each value."""
    asked = [*OF_THE_ENGINE, *((MODE, value) for value in UNDERSTOOD)]
    ended = run_engine(f"asked = {asked!r}\n{ASK_EACH}", **dict.fromkeys(VARIABLES, ""))
    return {(name, value): rest for name, value, *rest in map(json.loads, ended.stdout.splitlines())}


def test_every_documented_variable_is_tried_and_known_to_info():
    assert DOCUMENTED and set(DOCUMENTED) <= set(MALFORMED)
    assert set(DOCUMENTED) == set(VARIABLES)
    assert tuple(DOCUMENTED_MODES) == WORDS


@pytest.mark.parametrize(("name", "value"), OF_THE_ENGINE)
def test_the_engine_refuses_what_it_cannot_read(answers, name, value):
    init, message, set_device = answers[name, value]
    assert (init, set_device) == (100000, 100000)
    assert message.startswith(f"aclInit: {name}: expected ")
    assert message.endswith(f'got "{value}"')


@pytest.mark.parametrize(("name", "value"), OF_PYTHON)
def test_python_refuses_what_it_cannot_read(name, value):
    ended = run_python("import torch_aclnn", **{name: value})
    assert ended.returncode != 0
    assert f"{name}: expected " in ended.stderr and f"got '{value}'" in ended.stderr


@pytest.mark.parametrize("name", FORMER)
def test_a_variable_of_an_earlier_release_is_refused_with_what_there_is_now(answers, name):
    assert answers[name, "0"][1] == f'aclInit: {name}: expected none, but {FORMER[name]}, got "0"'


def test_an_unknown_mode_is_refused_with_those_that_exist(answers):
    message = answers[MODE, "leaks, strct"][1]
    assert message == f'aclInit: {MODE}: expected words of {", ".join(WORDS)} with commas between them, got "leaks, strct"'


@pytest.mark.parametrize("value", UNDERSTOOD)
def test_modes_have_commas_between_them_and_spaces_where_they_like(answers, value):
    assert answers[MODE, value] == [0, "", 0]


def test_a_variable_that_nothing_reads_is_told_at_the_first_use(run_engine):
    known = dict.fromkeys((*VARIABLES, *OF_COMMANDS), "")
    printed = run_engine("acl.aclInit(None)", TORCH_ACLNN_HOST_MEMROY="1G", **known).stderr
    assert re.findall("nothing reads the variable (.*), which is set", printed) == ["TORCH_ACLNN_HOST_MEMROY"], printed
