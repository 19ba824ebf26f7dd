"""The content of ``torch-aclnn info``: what is installed, whether it fits together, and the command that fixes it."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

from torch_aclnn.command import installation
from torch_aclnn.command.info.probe import Found, probe
from torch_aclnn.command.info.rows import rows
from torch_aclnn.command.info.variables import unknown
from torch_aclnn.loading.hook_settings import GPU_IS_VISIBLE
from torch_aclnn.loading.versions import CPU_BUILDS, check_versions, cpu_build_command, install_command


def show(*, as_json: bool, not_built: str | None = None) -> int:
    """Print what :func:`collect` returns, as a table or as JSON.

    Returns:
        0 if the package is usable, else 1.

    """
    found = collect(not_built)
    print(json.dumps(found, indent=1) if as_json else "\n".join(rows(found)))
    return 0 if found["usable"] else 1


def collect(not_built: str | None = None) -> dict[str, Any]:
    """Return what is installed and what is wrong, with the keys that docs/command_line.md describes."""
    facts = installation.facts()
    problem, remedy = not_built, None
    if not_built is not None:
        remedy = _build_command()
        found = Found()
    else:
        problem, remedy = _wrong_versions(facts)
        found = probe(imports=problem is None)
        if problem is None and found.problem is not None:
            problem, remedy = _explained(found, facts)
    entry_points = found.facts.get("entry_points", {})
    missing = [name for name, path in entry_points.items() if path is None]
    if problem is None and missing:
        problem = f"{', '.join(missing)} cannot be called"
    gpus = found.facts.get("gpus")
    return {
        **facts,
        "unknown_variables": unknown(facts["environment"]),
        "torch": {**facts["torch"], "gpus": gpus},
        "engine": found.facts.get("engine"),
        "soc": found.facts.get("soc"),
        "instruction_set": found.facts.get("instruction_set"),
        "operator_libraries": found.facts.get("operator_libraries", []),
        "entry_points": entry_points,
        "usable": problem is None,
        "problem": problem,
        "said": found.said or None,
        "remedy": remedy,
    }


def _wrong_versions(facts: dict[str, Any]) -> tuple[str | None, str | None]:
    for package in ("torch", "torch_npu"):
        if facts[package]["problem"] is not None:
            shadowed = f"{package}.py is not a whole" in facts[package]["problem"]  # pip cannot fix the user's file
            return facts[package]["problem"], None if shadowed else _reinstall(package, facts)
    try:
        check_versions()
    except ImportError as error:
        wanted = facts["torch_aclnn"]["built_for"]["torch"]
        if facts["torch"]["build"] not in (None, "CPU") and facts["torch"]["version"].split("+")[0] == wanted:
            return str(error), cpu_build_command()
        return str(error), install_command()
    return None, None


def _explained(found: Found, facts: dict[str, Any]) -> tuple[str | None, str | None]:
    if found.stage == "engine" and (variable := re.match(r"TORCH_ACLNN_\w+(?=: )", found.problem or "")):
        return found.problem, f"unset {variable[0]}"
    if found.stage == "import torch_npu" and found.facts.get("gpus"):
        return f"{GPU_IS_VISIBLE} ({found.problem})", "export CUDA_VISIBLE_DEVICES="
    if found.stage in ("import torch", "import torch_npu"):
        return found.problem, _reinstall(found.stage.removeprefix("import "), facts)
    return found.problem, None


def _reinstall(package: str, facts: dict[str, Any]) -> str:
    version = facts[package]["version"] or facts["torch_aclnn"]["built_for"][package]
    index = f" --index-url {CPU_BUILDS}" if version.endswith("+cpu") else ""
    return f'pip install --force-reinstall --no-deps "{package}=={version}"{index}'


def _build_command() -> str | None:
    tree = installation.package_directory().parent
    return f"pip install {shlex.quote(str(tree))}" if Path(tree, "pyproject.toml").is_file() else None
