"""torch-aclnn coverage: what a program used and missed, in one report."""

import json
import re
import struct
import subprocess
import sys

import torch_aclnn  # noqa: F401
import pytest
from torch_aclnn.command.coverage import Coverage

from support.marks import host_engine_only
from support.missing import environment_without
from support.subprocesses import COMMAND, run_python

REPLACED, FAILED = "entry points missing, another was taken", "entry points missing, the call failed"
COVERAGE = (COMMAND, "coverage")

pytestmark = host_engine_only


def report_of(code: str, *options: str, exit_code: int = 0, **environment: str) -> dict[str, list[str]]:
    """Run the code under the command and return the lines below each heading of the report."""
    done = run_python(code, launcher=(*COVERAGE, *options, "-c"), **environment)
    assert done.returncode == exit_code, done.stderr[-4000:]
    report = done.stderr.partition("torch-aclnn coverage: ")[2]
    assert report.rstrip().endswith(f"the program ended with code {exit_code}")
    blocks = re.findall(r"^([a-zA-Z ,]+): (\d+)\n((?:  .*\n)*)", report, re.MULTILINE)
    assert all(len(lines.splitlines()) == int(number) for _, number, lines in blocks)
    return {heading: [" ".join(line.split()) for line in lines.splitlines()] for heading, number, lines in blocks}


def test_the_entry_points_used_are_counted_although_the_program_resets_its_own_counts():
    code = """
    import torch_aclnn, torch
    torch.ones(2, device="npu").exp().cpu()
    torch_aclnn.host.reset()
    torch.ones(2, device="npu").exp().cpu()
    assert torch_aclnn.host.statistics().calls["aclnnExp"] == 1
    """
    report = report_of(code)
    assert "aclnnExp 2" in report["entry points used"]
    assert report[REPLACED] == report[FAILED] == report["operators called by name, and refused"] == []


def test_a_missing_entry_point_is_named_with_what_was_called_instead(tmp_path):
    code = "import torch; x = torch.ones(2, 2, device='npu'); print(torch.cdist(x, x).cpu())"
    report = report_of(code, **environment_without("aclnnCdist", tmp_path))
    assert report[REPLACED] == ["aclnnCdist torch_npu called acl_op::_cdist_forward"] and report[FAILED] == []
    assert report["operators called by name, and refused"] == []


def test_a_program_that_is_killed_leaves_what_it_used():
    code = "import os, torch; torch.ones(2, device='npu').exp(); torch.npu.synchronize(); os.kill(os.getpid(), 9)"
    assert "aclnnExp 1" in report_of(code, exit_code=137)["entry points used"]


def test_the_processes_of_a_program_are_counted_together(tmp_path):
    code = """
    import subprocess, sys
    for _ in range(2):
        subprocess.run([sys.executable, "-c", "import torch; torch.ones(2, device='npu').exp().cpu()"], check=True)
    """
    assert "aclnnExp 2" in report_of(code)["entry points used"]


def test_standard_output_is_the_programs_own():
    done = run_python("import os; os.write(1, b'result'); os.write(2, b'warning'); raise SystemExit(3)", launcher=(*COVERAGE, "-c"))
    assert done.returncode == 3 and done.stdout == "result"
    assert done.stderr.startswith("warning\ntorch-aclnn coverage: torch ")


def test_what_torch_npu_hands_to_the_cpu_is_listed_once_and_written_as_json_too(tmp_path):
    code = """
    import torch
    x = torch.eye(3, device="npu")
    for _ in range(2): torch.linalg.eigh(x)
    """
    assert report_of(code, "--json", str(tmp_path / "report.json"))["handed to the CPU"] == ["aten::_linalg_eigh.eigenvalues"]
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["exit_code"] == 0 and report["used"]
    assert report["handed_to_cpu"] == ["aten::_linalg_eigh.eigenvalues"]


def test_an_entry_point_is_described_without_a_program():
    command = (sys.executable, "-m", "torch_aclnn", "coverage", "--entry-point")
    found = [run_python("", launcher=(*command, name)) for name in ("aclnnGather", "aclnnMissing")]
    assert [(done.returncode, done.stdout.splitlines()[0]) for done in found] == [
        (0, "aclnnGather: computed, indexing"),
        (1, "aclnnMissing: missing"),
    ]
    assert re.search(r"^  index +In +INT32, INT64$", found[0].stdout, re.MULTILINE)


SUITE = """
import pytest, torch, torch_npu
def test_on_the_cpu():
    torch.linalg.eigh(torch.eye(2, device="npu"))
def test_missing():
    half = {"device": "npu", "dtype": torch.float16}
    with pytest.raises(RuntimeError):
        torch_npu.npu_ffn(torch.ones(4, 8, **half), torch.ones(8, 16, **half), torch.ones(16, 8, **half), "gelu")
"""


@pytest.mark.parametrize("options", [[], ["-n", "2"]], ids=["one process", "xdist"])
def test_what_pytest_captures_is_counted_too(tmp_path, options):
    (tmp_path / "test_suite.py").write_text(SUITE)
    launcher = (*COVERAGE, "--json", str(tmp_path / "report.json"), "-m", "pytest", "-p", "no:cacheprovider", *options, str(tmp_path))
    done = run_python("", launcher=launcher, **environment_without("aclnnFFNV2", tmp_path))
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["exit_code"] == done.returncode == 0, done.stdout
    assert report["handed_to_cpu"] == ["aten::_linalg_eigh.eigenvalues"]
    assert report["missing_failed"] == ["aclnnFFNV2"] and report["missing_replaced"] == {}


def test_a_process_that_outlives_the_program_does_not_hold_up_the_report():
    code = "import subprocess; subprocess.Popen(['sleep', '30'])"
    done = subprocess.run([*COVERAGE, "-c", code], capture_output=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=20)
    assert done.returncode == 0


def test_work_behind_a_failure_is_not_counted_as_used():
    code = """
    import torch, torch_npu
    x = torch.ones(2, device="npu")
    try:
        torch_npu.npu_bert_apply_adam(0.1, 0.9, 0.99, 1e-6, x, -1.0, 0.0, 0.0, out=(x, x, x))
        x.exp()
        torch.npu.synchronize()
    except RuntimeError:
        pass
    """
    report = report_of(code)
    assert report["operators called by name, and refused"] == ["ApplyAdamV2"]
    assert not any(line.startswith("aclnnExp ") for line in report["entry points used"])


def record(kind: int, name: str, calls: int) -> bytes:
    return struct.pack("=I116sQ", kind, name.encode(), calls)


def test_counts_of_several_processes_are_added():
    coverage = Coverage()
    coverage.read_counts(record(1, "aclnnExp", 2) + record(1, "aclnnSin", 0) + record(2, "Cdist", 1) + record(0, "", 0))
    coverage.read_counts(record(1, "aclnnExp", 3))
    assert coverage.used == {"aclnnExp": 5} and coverage.refused == {"Cdist"}


def test_the_words_of_torch_npu_about_the_cpu_are_understood():
    coverage = Coverage()
    for line in (
        "[W1 Kernel.cpp:230] Warning: CAUTION: The operator 'aten::foo.out' is not currently supported on the NPU backend and will "
        "fall back to run on the CPU. This may have performance implications. (function npu_cpu_fallback)",
        "CAUTION: The operator aten::bar need to be met the conditions. Now this operator will fallback to run on the CPU and may",
        "Since the NPU interface does not support operator 'aten::baz.dim_dtype', the operator will fall back to CPU.",
        "LSTM fallback to acl_op because params size does not meet aclnn requirements.",
        "CAUTION: The operator aten::bar need to be met the conditions. Now this operator will fallback to run on the CPU and may",
    ):
        coverage.read_log([line])
    assert coverage.on_cpu == ["aten::foo.out", "aten::bar", "aten::baz.dim_dtype"]


@pytest.mark.parametrize("quote", ["", '"'], ids=["2.13", "2.8"])
def test_the_words_of_torch_npu_about_a_missing_symbol_are_understood(quote):
    coverage = Coverage()
    words = (
        "dlsym aclnnFooGetWorkspaceSize from libopapi.so failed, error: undefined symbol.",
        "dlsym aclnnCdistGetWorkspaceSize from libopapi.so failed, error: undefined symbol.",
        "dlsym aclnnCdistGetWorkspaceSize from libaclnn_math.so failed, error: undefined symbol.",
        "aclnnCdist or aclnnCdistGetWorkspaceSize not in libopapi.so, or libopapi.so not found. Will call acl_op::cdist(x)",
        "dlsym aclnnLogit from libaclnn_math.so failed, error: undefined symbol.",
        "dlsym aclnnFFNGetWorkspaceSize from libaclnn_math.so failed, error: undefined symbol.",
        "dlsym aclnnFFN from libaclnn_math.so failed, error: undefined symbol.",
    )
    coverage.read_log(f"[PTA]:{quote}{word}{quote}\n" for word in words)
    assert coverage.replaced == {"aclnnCdist": "acl_op::cdist", "aclnnLogit": ""} and coverage.failed == ["aclnnFFN"]


def test_a_directory_that_cannot_be_written_is_named(tmp_path):
    code = "import torch_aclnn, torch; print(torch.ones(2, device='npu').exp().cpu())"
    done = run_python(code, TORCH_ACLNN_HOST_COVERAGE=str(tmp_path / "missing"))
    assert done.returncode == 0 and f'TORCH_ACLNN_HOST_COVERAGE: cannot write in "{tmp_path}/missing"' in done.stderr
