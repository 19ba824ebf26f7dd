"""docs/ci: what other projects copy to run their tests on the engine, executed in a small project."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from torch_aclnn import _built_for
from torch_aclnn.command.locations import bindir

from support.marks import host_engine_only

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "ci"
SCRIPT = FOLDER / "tests.sh"
JOB = yaml.safe_load((FOLDER / "github-actions.yml").read_text())["jobs"]["tests"]
STEPS = [step["run"] for step in JOB["steps"] if "run" in step]

# What stands in for Python, pip and the environment that they would make: the environment of the tests, and a list of pip's calls.
STAND_INS = {
    "python": """
        [ "$1 $2" = "-m venv" ] || exec {python} "$@"
        mkdir -p "$3/bin" && cp {folder}/pip {folder}/torch-aclnn "$3/bin"
        ln -s {python} "$3/bin/python" && echo "PATH=$PWD/$3/bin:\\$PATH" > "$3/bin/activate"
    """,
    "pip": """
        echo "${{TORCH_DEVICE_BACKEND_AUTOLOAD-}} $*" >> pip.log
        [ "$1" != wheel ] || {{ mkdir wheels && touch wheels/torch_aclnn.whl; }}
    """,
    "torch-aclnn": 'exec {command} "$@"',
}

PROJECT_TESTS = """
import subprocess
import torch

def test_npu():
    assert torch.ones(2, device="npu").exp().sum().item() > 5

def test_devices():
    listed = subprocess.run(["npu-smi", "info", "-l"], capture_output=True, text=True, check=True).stdout
    assert listed.count("NPU ID") == torch.npu.device_count() == 1
"""

pytestmark = host_engine_only


class Project:
    """A project on a machine of the service."""

    def __init__(self, root: Path) -> None:
        self.root = root / "project"
        self.root.mkdir()
        (self.root / "test_project.py").write_text(PROJECT_TESTS)
        programs = root / "programs"
        programs.mkdir()
        paths = {"python": sys.executable, "command": Path(sys.executable).parent / "torch-aclnn"}
        for name, body in STAND_INS.items():
            (programs / name).write_text("#!/bin/sh\n" + body.format(**paths, folder=programs))
            (programs / name).chmod(0o755)
        inherited = {name: value for name, value in os.environ.items() if name not in ("LD_LIBRARY_PATH", "TORCH_DEVICE_BACKEND_AUTOLOAD")}
        self.environment = {**inherited, "PATH": f"{programs}:{os.environ['PATH']}", "GITHUB_PATH": str(root / "path"), **JOB["env"]}
        (root / "path").touch()

    def run(self, *command: str) -> str:
        done = subprocess.run(command, cwd=self.root, env=self.environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout

    def step(self, commands: str) -> str:
        """Run a step as GitHub does; what it has written to the file GITHUB_PATH comes first in PATH of the next ones."""
        printed = self.run("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", commands)
        file = Path(self.environment["GITHUB_PATH"])
        for line in file.read_text().splitlines():
            self.environment["PATH"] = f"{line}:{self.environment['PATH']}"
        file.write_text("")
        return printed

    def check(self, printed: str) -> None:
        """Check what the steps have printed and installed."""
        assert "2 passed" in printed and "verdict                          ready" in printed and "910B3" in printed
        assert (self.root / "pip.log").read_text().splitlines() == [
            f" install torch=={_built_for.TORCH} --index-url https://download.pytorch.org/whl/cpu",
            f" install torch_npu=={_built_for.TORCH}.*",
            " install setuptools cmake ninja pyyaml",
            f"0 wheel --no-deps --no-build-isolation --wheel-dir wheels {JOB['env']['TORCH_ACLNN']}",
            " install wheels/torch_aclnn.whl",
            " install pytest",
            " install --no-deps .",
        ]


@pytest.mark.slow
def test_the_steps_of_the_workflow_run_a_projects_tests(tmp_path):
    project = Project(tmp_path)
    project.check("".join(project.step(commands) for commands in STEPS))
    assert f"{bindir()}:" in project.environment["PATH"]


@pytest.mark.slow
def test_the_script_runs_a_projects_tests(tmp_path):
    project = Project(tmp_path)
    for name in JOB["env"]:
        del project.environment[name]
    project.check(project.run(str(SCRIPT)))


def test_the_script_has_the_commands_of_the_workflow():
    commands = {line.strip() for step in STEPS for line in step.splitlines() if "GITHUB_PATH" not in line}
    assert commands - {line.strip() for line in SCRIPT.read_text().splitlines()} == set()
    assert {f'export {name}="{value}"' for name, value in JOB["env"].items()} - set(SCRIPT.read_text().splitlines()) == set()


def test_the_cache_depends_on_all_versions():
    key = next(step["with"]["key"] for step in JOB["steps"] if "cache" in step.get("uses", ""))
    parts = ["steps.python.outputs.python-version", *(f"env.{name}" for name in JOB["env"])]
    assert [part for part in parts if f"${{{{ {part} }}}}" not in key] == []


@pytest.mark.parametrize("file", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda file: file.name)
def test_each_workflow_runs_what_is_in_the_tree(file: Path):
    document = yaml.safe_load(file.read_text())
    steps = [step["run"] for job in document.get("jobs", {}).values() for step in job["steps"] if "run" in step]
    assert document["name"] and [step for step in steps if step.startswith(".ci/") and not os.access(ROOT / step.split()[0], os.X_OK)] == []
    sessions = {re.match(r"nox -s \"(\w+)-", step)[1] for step in steps if step.startswith("nox -s")}
    assert sessions <= set(re.findall(r"^def (\w+)\(session", (ROOT / "noxfile.py").read_text(), re.MULTILINE))
