"""The outcome of the tests with one version of torch_npu."""

import importlib.util
import os
import platform as machine
import re
import runpy
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from importlib.metadata import version
from pathlib import Path
from typing import Any

FAST = "not slow and not exhaustive and not opinfo"
# What does not depend on the version of torch_npu; tests/repository and tests/benchmarks do not either.
LEFT_OUT = ("tests/loading/test_security.py", "tests/loading/test_source_tree.py")
OLDER_NAMES = "tests/distributed/test_older_names.py"
FOLDERS = ("operators", "loading", "processes", "commands", "check", "aten", "by_name", "host", "graphs")

_SHORTCOMING = re.compile(r"torch_npu [\d.]+(?: to [\d.]+)?: (.*)")
# pytest's cache, in the environment of the run, has the tests that failed.
CACHE = Path(sys.prefix) / "pytest_cache"

_NAMED = re.compile(rb"(?<=\x00)(aclnn[A-Z][A-Za-z0-9]*)GetWorkspaceSize(?=\x00)")


def platform() -> dict[str, str]:
    """Return what the run is of; torch's version with the tag of its build."""
    torch = runpy.run_path(str(directory_of("torch") / "version.py"))["__version__"]
    return {"torch_npu": version("torch_npu"), "torch": str(torch), "python": machine.python_version(), "machine": machine.machine()}


def directory_of(package: str) -> Path:
    """Return where the package is installed, without importing it."""
    spec = importlib.util.find_spec(package)
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent


def tests(root: Path, report: Path, *options: str) -> dict[str, Any]:
    """Run the fast tests, and return their outcome."""
    taken = [f"tests/{folder}" for folder in FOLDERS]
    return run_pytest(root, report, "-m", FAST, *options, *(f"--ignore={file}" for file in LEFT_OUT), *taken, OLDER_NAMES)


def run_pytest(root: Path, report: Path, *arguments: str, **environment: str) -> dict[str, Any]:
    """Run pytest, and return how many tests passed, were skipped and failed, with the names of the last."""
    settings = ["-q", "-n", "auto", "-o", f"cache_dir={CACHE}", f"--junitxml={report}"]
    command = [sys.executable, "-m", "pytest", *settings, *arguments]
    subprocess.run(command, cwd=root, env={**os.environ, **environment}, check=False)
    return read_report(report)


def corrected(before: dict[str, str], again: dict[str, Any]) -> dict[str, Any]:
    """Return the outcome of a run, of which the row is given, after the tests that failed ran again."""
    counts = {name: int(before[name]) + again[name] for name in ("passed", "skipped")}
    shortcomings = {*before["shortcomings"].split("; "), *again["shortcomings"].split("; ")} - {""}
    return {**counts, "failed": again["failed"], "shortcomings": "; ".join(sorted(shortcomings))}


def read_report(report: Path) -> dict[str, Any]:
    """Return the counts of a JUnit report, and the shortcomings that support.marks.skip_with named."""
    cases = list(ElementTree.parse(report).iter("testcase"))
    failed = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    skipped = [reason for case in cases if (reason := case.find("skipped")) is not None]
    names = sorted(f"{case.get('classname')}.{case.get('name')}" for case in failed)
    texts = sorted({found[1] for reason in skipped if (found := _SHORTCOMING.fullmatch(reason.get("message", "")))})
    return {"passed": len(cases) - len(failed) - len(skipped), "skipped": len(skipped), "failed": names, "shortcomings": "; ".join(texts)}


def example(root: Path) -> float | None:
    """Train on the digits, as a user would, and return the accuracy in percent; None if the program fails."""
    environment = {name: value for name, value in os.environ.items() if name != "TORCH_DEVICE_BACKEND_AUTOLOAD"}
    with tempfile.TemporaryDirectory() as directory:
        command = [sys.executable, str(root / "examples" / "train_digits.py")]
        done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True)
    accuracies = re.findall(r"([\d.]+) ?%", done.stdout)
    if done.returncode != 0 or not accuracies:
        print(done.stdout[-2000:], done.stderr[-2000:], sep="\n", file=sys.stderr)
        return None
    return float(accuracies[-1])


def entry_points() -> dict[str, int]:
    """Return how many entry points torch_npu names, and how many of them the engine answers."""
    libraries = (directory_of("torch_npu") / "lib").glob("lib*.so")
    named = {name.decode() for library in libraries for name in _NAMED.findall(library.read_bytes())}
    code = "from torch_aclnn.host.registry import entry_points; print(*{entry.name for entry in entry_points()})"
    answered = set(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split())
    return {"named": len(named), "answered": len(named & answered)}
