"""torch-aclnn debug: one command finds what a program in C or in Python does wrong, and its exit code says so."""

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support.compiler import c_program
from support.marks import host_engine_only
from support.subprocesses import COMMAND, environment_with, run_python

DEBUG = (COMMAND, "debug")
SOURCE = Path(__file__).parents[1] / "host" / "mistakes.c"

# For each mistake the kind that the summary counts, and words of the report.
MISTAKES = {
    "leak, no aclFinalize": (
        "leak (1)",
        "before the end of the process, without aclFinalize: 64 bytes .* and 2 more of the kind, 192 bytes",
    ),
    "leak": ("leak (1)", "not freed before aclFinalize: 64 bytes of device 0"),
    "leaked stream": ("leak (1)", "not destroyed before aclFinalize: stream 0x.*, called from\n"),
    "no aclInit": ("missing aclInit (1)", "aclrtSetDevice is called before aclInit"),
    "workspace": ("call that returned an error (1)", "161002: aclnnAbs: workspaceSize: expected the 1024 bytes of phase 1, got 1"),
    "lifetime": (
        "call that returned an error (1)",
        "507015: aclnnAbs: out: expected device memory, got an address of memory that was freed, because it was freed after the launch",
    ),
    "streams": ("unordered use of memory (1)", 'aclnnAbs writes "out" on stream 0, and then aclrtMemsetAsync writes'),
    "access": ("access to device memory (1)", "host code (read|touched) device memory"),
}

pytestmark = host_engine_only


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    return c_program(SOURCE, tmp_path_factory.mktemp("client") / "client", ["-g"])


@functools.cache
def debugged(*program: str, **settings: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*DEBUG, *program], capture_output=True, text=True, timeout=300, env=environment_with(**settings))


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_of_a_client_is_found(client, mistake):
    kind, words = MISTAKES[mistake]
    done = debugged(str(client), mistake)
    assert done.returncode == (139 if mistake == "access" else 99)
    assert f"torch-aclnn debug: 1 found: {kind}; " in done.stderr and re.search(words, done.stderr), done.stderr


def test_a_signal_to_the_command_ends_the_program_and_leaves_no_folder(tmp_path):
    program = ("sh", "-c", "echo $$; exec sleep 100")
    with subprocess.Popen([*DEBUG, *program], stdout=subprocess.PIPE, text=True, env=environment_with(TMPDIR=str(tmp_path))) as command:
        number = int(command.stdout.readline())
        command.terminate()
        assert command.wait(60) == 143
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)


def test_a_client_without_mistakes_ends_with_its_own_code(client):
    done = debugged(str(client))
    assert done.returncode == 0 and "torch-aclnn debug: nothing found with TORCH_ACLNN_HOST_MODE=" in done.stderr, done.stderr


needs_addr2line = pytest.mark.skipif(shutil.which("addr2line") is None, reason="no addr2line")


@needs_addr2line
@pytest.mark.parametrize(
    ("mistake", "lines"),
    [
        ("leak", [("memory_of", "aclrtMalloc"), ("main", "memory_of(kBytes)")]),
        ("access", [("memory_of", "aclrtMalloc"), ("main", "memory_of(kBytes)"), ("main", "(volatile int*)")]),
        ("streams", [("main", "aclnnAbsGetWorkspaceSize"), ("main", "aclrtMemsetAsync")]),
    ],
)
def test_a_stack_has_the_lines_of_the_program_and_nothing_of_libraries(client, mistake, lines):
    printed = debugged(str(client), mistake).stderr
    assert not re.search(r"^\S*(libascendcl|libc)\.so", printed, re.MULTILINE) and "_start" not in printed, printed
    source = SOURCE.read_text().splitlines()
    named = [(name, source[int(line) - 1]) for name, line in re.findall(r"^(\w+) at \S*mistakes\.c:(\d+)", printed, re.MULTILINE)]
    assert len(named) == len(lines), printed
    assert all(name == function and words in line for (name, line), (function, words) in zip(named, lines, strict=True)), named


def test_a_machine_without_addr2line_has_the_command(client):
    printed = debugged(str(client), "leak", PATH="/nowhere").stderr
    assert re.search(rf"torch_aclnn: the lines: addr2line -Cfpe {re.escape(str(client))}( 0x\w+){{2}}\n", printed), printed


def test_leaks_after_an_error_are_one_line(client):
    printed = debugged(str(client), "workspace, leak").stderr
    assert "2 found: call that returned an error (1), leak (1); " in printed
    assert re.search("after the error, not given back before aclFinalize: 64 bytes of .*, and 2 more of the kind, 192 bytes", printed)
    assert printed.count("called from") == 1


TRAINS = """
import torch
layer = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.AvgPool2d(2)).npu()
optimizer, side, event = torch.optim.SGD(layer.parameters(), 0.1), torch.npu.Stream(), torch.npu.Event()
for _ in range(3):
    optimizer.zero_grad()
    layer(torch.randn(2, 1, 8, 8).pin_memory().npu(non_blocking=True)).square().mean().backward()
    optimizer.step()
event.record()
"""
RACES = "y = torch.ones(1000, device='npu') * 2\nwith torch.npu.stream(side): z = y + 1"


@pytest.mark.parametrize(("end", "code", "found"), [("raise SystemExit(3)", 3, "nothing found"), (RACES, 99, "unordered use of memory")])
def test_a_program_of_python(end, code, found):
    done = run_python(TRAINS + end, launcher=(*DEBUG, "-c"))
    assert done.returncode == code and found in done.stderr.partition("torch-aclnn debug: ")[2], done.stderr


def test_modes_can_be_left_out_and_added(client):
    environment = environment_with(TORCH_ACLNN_HOST_MODE="hf32, leaks", TORCH_ACLNN_HOST_DELAYS="0")
    command = [*DEBUG, "--without=leaks,strict", client, "leak"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "TORCH_ACLNN_HOST_MODE=hf32,workspace,isolate,poison,check_streams TORCH_ACLNN_HOST_DELAYS=0; " in done.stderr
