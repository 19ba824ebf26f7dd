"""torch-aclnn info if something is wrong: each test makes an environment of its own."""

import importlib.util
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import torch_aclnn
import pytest
from torch_aclnn import _built_for
from torch_aclnn.command import installation
from torch_aclnn.command.info.probe import probe
from torch_aclnn.command.info.rows import rows
from torch_aclnn.loading.versions import minor

from support.marks import host_engine_only
from support.subprocesses import run_python

PACKAGE = Path(torch_aclnn.__file__).parent
COMMAND = "import sys, torch_aclnn_command; sys.exit(torch_aclnn_command.main())"
INSTALL = f'pip install "torch=={minor(_built_for.TORCH)}.*" "torch_npu=={minor(_built_for.TORCH_NPU)}.*"'
NO_GPU = "import types\ncuda = types.SimpleNamespace(device_count=lambda: 0, is_available=lambda: False)"

pytestmark = host_engine_only


class Site:
    """A directory in the place of site-packages, with the package and nothing else."""

    def __init__(self, directory: Path, package: Path = PACKAGE) -> None:
        self.directory = directory
        (directory / "torch_aclnn").symlink_to(package)
        for module in ("torch_aclnn_command", "torch_aclnn_import_hook"):
            (directory / f"{module}.py").symlink_to(importlib.util.find_spec(module).origin)

    def add(self, name: str, version: str, code: str = "", more: str = "") -> None:
        package = self.directory / name
        package.mkdir()
        (package / "version.py").write_text(f"__version__ = {version!r}\n{more}\n")
        (package / "__init__.py").write_text(code)

    def info(self, *arguments: str, **environment: str) -> Any:
        launcher = (sys.executable, "-S", "-c", COMMAND, "info", *arguments)
        return run_python("", launcher=launcher, PYTHONPATH=str(self.directory), **environment)

    def problem(self, **environment: str) -> dict[str, Any]:
        """Return the JSON object, which must name a problem that the table names, too."""
        done = self.info("--json", **environment)
        assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
        found = json.loads(done.stdout)
        assert not found["usable"]
        table = "\n".join(rows(found))
        assert " ".join(f"not usable: {found['problem']}".split()) in " ".join(table.split())
        assert not found["remedy"] or table.endswith(found["remedy"])
        return found


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_without_torch(site):
    found = site.problem(TORCH_ACLNN_HOST_SOC="Ascend910B3")
    assert "needs torch" in found["problem"] and found["remedy"] == INSTALL
    assert found["torch"]["version"] is None and found["engine"]["kind"] == "host" and found["soc"] == "Ascend910B3"


def test_without_torch_npu(site):
    site.add("torch", f"{_built_for.TORCH}+cpu", NO_GPU)
    found = site.problem()
    assert "needs torch_npu" in found["problem"] and found["remedy"] == INSTALL
    assert found["torch"] == {"version": f"{_built_for.TORCH}+cpu", "problem": None, "build": "CPU", "gpus": 0}


@pytest.mark.parametrize(
    ("torch", "torch_npu", "words"),
    [
        ("2.1.0", _built_for.TORCH_NPU, "2.1.0 is installed"),
        (_built_for.TORCH, "2.1.0", "2.1.0 is installed"),
        ("99.0.0", _built_for.TORCH_NPU, "torch 99.0.0 is installed, but this release of torch_aclnn knows no torch_npu"),
    ],
)
def test_another_version(site, torch, torch_npu, words):
    site.add("torch", torch)
    site.add("torch_npu", torch_npu)
    found = site.problem()
    assert words in found["problem"] and found["remedy"] == INSTALL
    assert (found["torch"]["version"], found["torch_npu"]["version"]) == (torch, torch_npu)


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("raise ImportError('libtorch_cpu.so:\\n no such file')", "import torch: ImportError: libtorch_cpu.so: no such file"),
        (
            "import os, sys; print('no such symbol', file=sys.stderr, flush=True); os.abort()",
            "import torch: the process was ended by SIGABRT",
        ),
        ("import sys; sys.exit(3)", "import torch: SystemExit: 3"),
        ("import os; os._exit(3)", "import torch: the process ended with code 3"),
    ],
)
def test_torch_that_does_not_import(site, code, problem):
    site.add("torch", f"{_built_for.TORCH}+cpu", code)
    site.add("torch_npu", _built_for.TORCH_NPU)
    found = site.problem()
    assert found["problem"] == problem
    assert found["remedy"].startswith(f'pip install --force-reinstall --no-deps "torch=={_built_for.TORCH}+cpu" --index-url https://')
    assert found["engine"]["kind"] == "host"
    if "SIGABRT" in problem:
        assert found["said"] == "no such symbol"


def test_torch_npu_that_does_not_import(site):
    site.add("torch", _built_for.TORCH, NO_GPU)
    site.add("torch_npu", _built_for.TORCH_NPU, "raise RuntimeError('two accelerators')")
    found = site.problem()
    assert found["problem"] == "import torch_npu: RuntimeError: two accelerators"
    assert found["remedy"] == f'pip install --force-reinstall --no-deps "torch_npu=={_built_for.TORCH_NPU}"'


def test_a_gpu_beside_the_npu(site):
    cuda = "import types\ncuda = types.SimpleNamespace(device_count=lambda: 1, is_available=lambda: True)"
    site.add("torch", f"{_built_for.TORCH}+cu130", cuda, more="cuda = '13.0'")
    site.add("torch_npu", _built_for.TORCH_NPU, "raise RuntimeError('two accelerators')")
    found = site.problem()
    assert found["problem"].startswith("a GPU is visible in addition to the npu device")
    assert "two accelerators" in found["problem"] and found["remedy"] == "export CUDA_VISIBLE_DEVICES="
    assert f"{'torch':33}{_built_for.TORCH}+cu130 (CUDA 13.0 build, 1 GPU visible)" in rows(found)


def test_torch_that_never_ends_its_import(tmp_path, monkeypatch):
    (tmp_path / "torch.py").write_text("import time\ntime.sleep(600)")
    monkeypatch.syspath_prepend(tmp_path)
    assert probe(imports=False, seconds=6).problem == "import torch: not at its end after 6 s"


@pytest.mark.parametrize(("content", "error"), [("<<<<<<< HEAD", "SyntaxError"), ("", "KeyError"), ("1 / 0", "ZeroDivisionError")])
def test_a_damaged_version_file(site, content, error):
    site.add("torch", _built_for.TORCH)
    (site.directory / "torch" / "version.py").write_text(content)
    found = site.problem()
    assert found["problem"].startswith(f"{site.directory}/torch/__init__.py is not a whole torch: {error}")
    assert found["remedy"] == f'pip install --force-reinstall --no-deps "torch=={_built_for.TORCH}"'


def test_a_file_that_is_named_like_torch(site):
    (site.directory / "torch.py").write_text("print('my first program')")
    found = site.problem()
    assert found["problem"].startswith(f"{site.directory}/torch.py is not a whole torch") and found["remedy"] is None


def test_the_build_of_torch_is_read_without_importing_it(site):
    site.add("torch", f"{_built_for.TORCH}+cu130", "import os; os.abort()", more="cuda = '13.0'")
    found = site.problem()
    assert found["torch"]["build"] == "CUDA 13.0" and found["torch"]["gpus"] is None
    assert f"{'torch':33}{_built_for.TORCH}+cu130 (CUDA 13.0 build)" in rows(found)


def test_a_package_that_is_not_built(tmp_path):
    tree = tmp_path / "clone"
    generated = ("lib", "include", "toolkit", "_C.*", "_built_for.py", "__pycache__")
    shutil.copytree(PACKAGE, tree / "torch_aclnn", ignore=shutil.ignore_patterns(*generated))
    (tree / "pyproject.toml").touch()
    (tmp_path / "site").mkdir()
    found = Site(tmp_path / "site", tree / "torch_aclnn").problem()
    assert "is not built" in found["problem"] and found["remedy"] == f"pip install {tree}"
    assert found["torch_aclnn"]["built_for"] is None and found["torch_aclnn"]["directory"] == str(tree / "torch_aclnn")


def test_an_engine_that_does_not_exist(site):
    site.add("torch", _built_for.TORCH)
    site.add("torch_npu", _built_for.TORCH_NPU)
    found = site.problem(TORCH_ACLNN_ENGINE="gpu")
    assert (
        found["problem"] == "TORCH_ACLNN_ENGINE: expected auto, cann or host, got 'gpu'" and found["remedy"] == "unset TORCH_ACLNN_ENGINE"
    )
    assert found["environment"]["TORCH_ACLNN_ENGINE"] == "gpu"


@pytest.mark.parametrize(("name", "value"), [("SOC", "Ascend910C"), ("MODE", "strct"), ("STRICT", "1"), ("TRACE", "/nowhere/trace")])
def test_a_variable_that_the_engine_refuses(site, name, value):
    site.add("torch", _built_for.TORCH, NO_GPU)
    site.add("torch_npu", _built_for.TORCH_NPU)
    found = site.problem(**{f"TORCH_ACLNN_HOST_{name}": value})
    assert found["problem"].startswith(f"TORCH_ACLNN_HOST_{name}: ") and f'"{value}"' in found["problem"]
    assert found["remedy"] == f"unset TORCH_ACLNN_HOST_{name}" and found["engine"]["kind"] == "host"


def test_a_variable_that_nothing_reads_is_named_with_the_one_that_is_meant(site, tmp_path):
    trace = tmp_path / "trace"
    found = site.problem(TORCH_ACLNN_HOST_MODES="1", TORCH_ACLNN_HOST_STRCT="1", TORCH_ACLNN_X="1", TORCH_ACLNN_HOST_TRACE=str(trace))
    meant = {"TORCH_ACLNN_HOST_MODES": "TORCH_ACLNN_HOST_MODE", "TORCH_ACLNN_HOST_STRCT": "TORCH_ACLNN_HOST_MODE=strict"}
    assert found["unknown_variables"] == {**meant, "TORCH_ACLNN_X": None}
    assert "which nothing reads; did you mean TORCH_ACLNN_HOST_MODE=strict?" in " ".join(" ".join(rows(found)).split())
    assert not trace.exists()


def test_what_packages_print_is_not_in_the_output(site):
    site.add("torch", _built_for.TORCH, "print('noise', flush=True); raise ImportError('x')")
    site.add("torch_npu", _built_for.TORCH_NPU)
    lines = site.info().stdout.splitlines()
    assert "noise" not in lines and lines[0].startswith("Python ")


def test_the_import_hook_is_found_and_can_be_off(tmp_path):
    assert installation.facts({}, [str(tmp_path)])["import_hook"] == {"installed": None, "enabled": True}
    hook = tmp_path / "torch_aclnn_import_hook.pth"
    hook.touch()
    off = installation.facts({"TORCH_ACLNN_IMPORT_HOOK": "0"}, [str(tmp_path)])
    assert off["import_hook"] == {"installed": str(hook), "enabled": False}
    assert off["environment"] == {"TORCH_ACLNN_IMPORT_HOOK": "0"}


def test_where_all_is_well_the_object_has_the_documented_keys():
    command = str(Path(sys.executable).parent / "torch-aclnn")
    done = run_python("", launcher=(command, "info", "--json"), TORCH_ACLNN_HOST_SOC="Ascend910B1")
    assert done.returncode == 0, done.stdout
    found = json.loads(done.stdout)
    assert found["usable"] and found["problem"] is found["remedy"] is found["said"] is None
    assert found["engine"]["kind"] == "host" and found["soc"] == "Ascend910B1"
    assert all(Path(path).is_file() for path in found["entry_points"].values())
    page = (Path(__file__).parents[2] / "docs" / "command_line.md").read_text()
    table = page.partition("### The JSON object of `info`")[2].partition("\n#")[0]
    assert [line.split("`")[1] for line in table.splitlines() if line.startswith("| `")] == list(found)


def test_the_table_is_narrow_enough_for_a_terminal(site):
    lines = site.info(TORCH_ACLNN_ENGINE="gpu").stdout.splitlines()
    too_long = [line for line in lines if len(line) > 80 and not line.startswith(("installed in", "its libraries", "to fix it"))]
    assert lines and too_long == []
