"""Checkouts of MindSpeed-LLM, MindSpeed and Megatron-LM that belong together."""

import re
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

PROGRAMS, FEATURES, MEGATRON = "Ascend+MindSpeed-LLM", "Ascend+MindSpeed", "NVIDIA+Megatron-LM"
# A release of MindSpeed-LLM, and the branches of MindSpeed and Megatron-LM that its installation guide names.
RELEASES = {
    **{release: (f"{release}_core_r0.12.1", "core_v0.12.1") for release in ("26.1.0", "26.0.0", "2.3.0", "2.2.0")},
    **{release: (f"{release}_core_r0.8.0", "core_r0.8.0") for release in ("2.1.0", "2.0.0")},
    "master": ("master", "core_v0.12.1"),
}


@dataclass(frozen=True)
class Stack:
    """The sources that one release runs with."""

    programs: Path
    megatron: Path
    features: Path

    def paths(self) -> str:
        """Return the checkouts as a value of PYTHONPATH."""
        return ":".join(map(str, (self.programs, self.megatron, self.features)))


def stack(copies: Path, work: Path, release: str) -> Stack:
    """Return the checkouts of a release, made in ``work`` from the bare copies unless they are there."""
    features, megatron = RELEASES[release]
    made = Stack(
        _checkout(copies, work, PROGRAMS, release), _checkout(copies, work, MEGATRON, megatron), _checkout(copies, work, FEATURES, features)
    )
    _build_index_helpers(made.megatron)
    _take_an_argument(made.features)
    return made


def _git(*arguments: str | Path) -> str:
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout


def _checkout(copies: Path, work: Path, name: str, branch: str) -> Path:
    into = work / "sources" / f"{name.split('+')[1]}@{branch}"
    if not into.exists():
        into.parent.mkdir(parents=True, exist_ok=True)
        _git("clone", "-q", "--shared", "--no-checkout", copies / name / "repo", into)
        _git("-C", into, "checkout", "-q", "--detach", _commit(into, branch))
    return into


def _commit(checkout: Path, branch: str) -> str:
    for name in (f"refs/tags/{branch}", f"refs/remotes/origin/{branch}"):
        found = subprocess.run(["git", "-C", checkout, "rev-parse", "-q", "--verify", name], check=False, capture_output=True, text=True)
        if found.returncode == 0:
            return found.stdout.strip()
    raise SystemExit(f"{checkout}: expected a branch or tag {branch}")


def _build_index_helpers(megatron: Path) -> None:
    """Build Megatron's extension that makes the index of its data sets."""
    folder = megatron / "megatron/core/datasets"
    if list(folder.glob("helpers*.so")):
        return
    module = "helpers_cpp" if "helpers_cpp" in (folder / "helpers.cpp").read_text() else "helpers"
    includes = subprocess.run([sys.executable, "-m", "pybind11", "--includes"], check=True, capture_output=True, text=True).stdout.split()
    command = ["g++", "-O2", "-shared", "-std=c++17", "-fPIC", "-w", *includes, "helpers.cpp", "-o"]
    subprocess.run([*command, f"{module}{sysconfig.get_config_var('EXT_SUFFIX')}"], check=True, cwd=folder)


def _take_an_argument(features: Path) -> None:
    """Let MindSpeed's get_device_capability take a device: since 2.8 torch passes one as it makes a group."""
    for path in features.glob("mindspeed/core/**/grouped_*.py"):
        text = path.read_text()
        changed = re.sub(r"def get_device_capability\(\):", "def get_device_capability(device=None):", text)
        if changed != text:
            path.write_text(changed)
