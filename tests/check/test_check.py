"""torch-aclnn check: what passes, what fails, and how it is told."""

import dataclasses
import importlib.util
import json
import sys
from pathlib import Path

import torch_aclnn
import pytest
from torch_aclnn._operators import OPERATORS
from torch_aclnn._repository import ADDRESS
from torch_aclnn.check import command, records, report, worker, workers
from torch_aclnn.check.families import SPECIFICATIONS
from torch_aclnn.check.layouts import LAYOUTS
from torch_aclnn.command import cli

from support.marks import host_engine_only, of_a2_and_a3
from support.subprocesses import COMMAND, run_python

pytestmark = host_engine_only
PASSED = records.Check("values", "avg_pool2d", records.PASSED, 0, "float32", "contiguous", 0.5, 8.0)
FAILED = records.Check("determinism", "avg_pool2d", records.FAILED, 1, "float16", message="first line\nsecond line")


def check(*arguments: str, exit_code: int = 0, **environment: str):
    """Run the command and return the lines that it prints."""
    done = run_python("", launcher=(COMMAND, "check", *arguments), **environment)
    assert done.returncode == exit_code, done.stdout + done.stderr
    return done.stdout.splitlines()


@of_a2_and_a3
def test_a_selection_passes_and_is_reported(tmp_path):
    lines = check("--operator", "avg_pool2d", "--mode", "1", "--json", str(tmp_path / "report.json"))
    assert lines[0].startswith("Python ")
    assert lines[-1].startswith("verdict  passed: ")
    assert max(len(line) for line in lines if not line.startswith("not offered: ")) <= 80 and not any("\x1b" in line for line in lines)
    written = json.loads((tmp_path / "report.json").read_text())
    assert {"python", "torch", "torch_npu", "torch_aclnn", "engine", "soc", "cann", "kernels", "driver"} <= written["machine"].keys()
    hashes = {Path(path).name: hash for path, hash in written["machine"]["libraries"].items()}
    assert all(len(hashes[name]) == 64 for name in ("libopapi.so", "libascendcl.so", "libtorch_npu.so"))
    found = written["format"], written["passed"], written["operators"], written["modes"], written["quick"]
    assert found == (6, True, ["avg_pool2d"], [1], False)
    fields = {field.name for field in dataclasses.fields(records.Check)}
    assert all(row.keys() == fields for row in written["checks"])
    layouts = {(row["dtype"], row["layout"]) for row in written["checks"] if row["check"] == "values"}
    assert layouts == {(dtype, layout) for dtype in ("float32", "float16", "bfloat16") for layout in LAYOUTS}
    assert all(0 < row["error_ulp"] <= row["limit_ulp"] for row in written["checks"] if row["check"] in ("values", "layer", "network"))
    assert {"queued", "memory", "determinism", "stream", "device", "graph", "private formats"} <= {
        row["check"] for row in written["checks"]
    }


@pytest.mark.exhaustive
def test_all_passes():
    lines = check(TORCH_ACLNN_HOST_DEVICES="2")
    assert lines[-1].startswith("verdict  passed: ")
    assert max(len(line) for line in lines if not line.startswith("not offered: ")) <= 80
    (collective,) = (line.split() for line in lines if line.startswith(" two ranks, HCCL"))
    assert collective[3:] == ["passed", "-", "-"]


@pytest.mark.slow
def test_a_quick_check_passes():
    assert check("--quick")[-1].startswith("verdict  passed: ")


@pytest.mark.slow
def test_what_a_product_does_not_list_is_not_offered():
    lines = check("--mode", "0", "--quick", TORCH_ACLNN_HOST_SOC="Ascend310P3")
    told = [line.partition(": aclnn")[0] for line in lines]
    assert {"not offered: max_unpool3d float32", "not offered: adaptive_avg_pool3d float32"} <= set(told)
    assert told.count("not offered: avg_pool2d bfloat16") == 1
    assert lines[-1].startswith("verdict  passed: ") and " not offered by this product" in lines[-1]


def test_a_quick_check_leaves_out_layouts_and_networks():
    whole, quick = (list(worker.jobs([o.name for o in OPERATORS], 1, True, is_quick)) for is_quick in (False, True))
    assert len(quick) < len(whole) / 1.5
    assert {job.check for job in whole} == {job.check for job in quick}
    assert {job.operator for job in quick} == set(SPECIFICATIONS)


def test_an_exception_fails_its_check_alone():
    def broken():
        raise KeyError("no such thing")

    found = worker.do(worker.Job("memory", "avg_pool2d", broken), 2)
    assert (found.status, found.check, found.message) == (records.FAILED, "memory", "KeyError: 'no such thing'")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import os, sys; print('last words', file=sys.stderr, flush=True); os.kill(os.getpid(), 11)", "was ended by SIGSEGV\nlast words"),
        ("import sys; sys.exit('no device')", "ended with code 1\nno device"),
        ("raise ImportError('libascendcl.so: cannot open')", "ImportError: libascendcl.so: cannot open"),
    ],
)
def test_a_worker_that_dies_is_a_failed_check(code, words):
    found = workers.run([sys.executable, "-c", code], 2, lambda values: None)
    assert (found.check, found.status, found.mode) == ("worker", records.FAILED, 2) and words in found.message


def test_what_a_worker_reported_before_it_died_counts():
    code = 'import os, sys; os.write(int(sys.argv[1]), b\'{"total": 7}\\n{"check": "va\'); os.abort()'
    seen = []
    assert "SIGABRT" in workers.run([sys.executable, "-c", code], 0, seen.append).message
    assert seen == [{"total": 7}]


def replace_workers(monkeypatch, *found: records.Check | Exception | type[BaseException]):
    """Let each worker report these."""

    def run(arguments, mode, take):
        take({"total": len(found)})
        for record in found:
            if not isinstance(record, records.Check):
                raise record
            take(dataclasses.asdict(record))

    monkeypatch.setattr(workers, "run", run)


def test_a_failure_is_told_and_gives_exit_code_1(monkeypatch, capsys):
    replace_workers(monkeypatch, PASSED, FAILED)
    assert command.run(["avg_pool2d"], [0], None, is_quick=True) == 1
    printed = capsys.readouterr().out
    assert "failed: determinism avg_pool2d float16, mode 1\n    first line\n    second line\n" in printed
    assert printed.splitlines()[-1].startswith("verdict  failed: 1 of 2 checks, in ")


def test_what_a_right_device_may_do_is_told_and_passes(monkeypatch, capsys):
    less_exact = dataclasses.replace(PASSED, status=records.LESS_EXACT, message="an error of 9 ulp")
    repeats = records.Check("determinism", "avg_pool2d", records.PASSED, 0, "float32", detail="other bits")
    replace_workers(monkeypatch, less_exact, repeats)
    assert command.run(["avg_pool2d"], [0], None, is_quick=True) == 0
    printed = capsys.readouterr().out
    assert "less exact than the engine: values avg_pool2d float32 contiguous, mode 0\n    an error of 9 ulp\n" in printed
    assert "may differ" in printed and "verdict  passed: 1 checks, 1 less exact than the engine, in " in printed


def test_a_worker_that_reports_less_than_it_announced_is_a_failure():
    assert not report.Report(["avg_pool2d"], [0], checks=[PASSED], total=2).passed
    assert report.Report(["avg_pool2d"], [0], checks=[PASSED], total=1).passed


def test_ctrl_c_leaves_a_report_and_no_traceback(monkeypatch, capsys, tmp_path):
    replace_workers(monkeypatch, PASSED, KeyboardInterrupt)
    assert command.run(["avg_pool2d"], [0, 1], tmp_path / "report.json") == 130
    assert capsys.readouterr().out.splitlines()[-1] == "verdict  interrupted: 1 checks passed, 0 failed until then"
    assert json.loads((tmp_path / "report.json").read_text())["passed"] is False


def test_the_report_names_neither_user_nor_host_and_says_where_it_goes(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("HOME", "/home/alice")
    monkeypatch.setenv("LOGNAME", "alice")
    monkeypatch.setattr("socket.gethostname", lambda: "npu")
    message = "[npu]:29500 refused; npu:0 of /home/alice/v, /data/alice/npu/x, /home/alice2 and alice"
    replace_workers(monkeypatch, dataclasses.replace(FAILED, message=message))
    command.run(["avg_pool2d"], [0], tmp_path / "report.json", is_quick=True)
    (written,) = json.loads((tmp_path / "report.json").read_text())["checks"]
    assert written["message"] == "[HOST]:29500 refused; npu:0 of ~/v, /data/USER/HOST/x, /home/alice2 and alice"
    said = capsys.readouterr().err
    assert "no host or user name" in said and said.endswith(f"{ADDRESS}/issues\n")


def test_ctrl_c_ends_the_worker(tmp_path):
    code = f"""import os, sys, time
os.write(int(sys.argv[1]), b'{{"total": 1}}\\n')
time.sleep(5)
open({str(tmp_path / "lived")!r}, "w")"""

    def interrupt(values):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        workers.run([sys.executable, "-c", code], 0, interrupt)
    assert not (tmp_path / "lived").exists()


def test_without_rich_the_command_says_what_to_install(monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "rich" else find_spec(name))
    monkeypatch.setattr(sys, "argv", ["torch-aclnn", "check"])
    with pytest.raises(SystemExit, match=r'torch-aclnn check: the package rich is not installed: pip install "torch_aclnn\[check\]"'):
        cli.main()


def test_a_folder_that_does_not_exist_is_an_error_before_the_work(capsys):
    with pytest.raises(SystemExit, match="2"):
        cli.parse(["check", "--json", "/nowhere/report.json"])
    assert "--json: expected a file in a folder that can be written, got /nowhere" in capsys.readouterr().err


def test_a_worker_imports_the_commands_package_wherever_it_is_started(tmp_path, monkeypatch):
    (tmp_path / "torch_aclnn.py").write_text("raise SystemExit('the one in the working directory')")
    monkeypatch.chdir(tmp_path)
    started = workers.command(1, [], is_first=True)
    assert workers.run(started, 1, lambda values: None) is None
    assert started[3] == str(Path(torch_aclnn.__file__).parent.parent)
