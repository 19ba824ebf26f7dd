"""The table of ``torch-aclnn info``."""

import textwrap
from pathlib import Path
from typing import Any

_LABEL = 33
_WIDTH = 80


def rows(found: dict[str, Any]) -> list[str]:
    """Return the lines of the table for what :func:`torch_aclnn.command.info.command.collect` returns."""
    table = [*_packages(found), *_machine(found), *_operators(found)]
    lines = [f"{name:{_LABEL}}{value}" for name, value in table]
    for variable, nearest in found["unknown_variables"].items():
        lines += _wrapped("unknown variable", f"{variable}, which nothing reads" + (f"; did you mean {nearest}?" if nearest else ""))
    verdict = "ready" if found["usable"] else f"not usable: {found['problem']}"
    lines += _wrapped("verdict", verdict)
    for line in (found["said"] or "").splitlines():
        lines += _wrapped("last messages", line)
    return lines + ([f"{'to fix it':{_LABEL}}{found['remedy']}"] if found["remedy"] else [])


def _wrapped(name: str, text: str) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent=f"{name:{_LABEL}}", subsequent_indent=" " * _LABEL, break_long_words=False, break_on_hyphens=False
    )


def _packages(found: dict[str, Any]) -> list[tuple[str, str]]:
    python, own = found["python"], found["torch_aclnn"]
    return [
        ("Python", f"{python['version']} ({'supported' if python['supported'] else 'not supported'})"),
        ("torch", _torch(found["torch"])),
        ("torch_npu", _version(found["torch_npu"])),
        ("torch_aclnn", own["version"]),
        ("installed in", own["directory"]),
        ("import hook", _hook(found["import_hook"])),
    ]


def _version(package: dict[str, Any]) -> str:
    return package["version"] or ("damaged" if package["problem"] else "not installed")


def _torch(torch: dict[str, Any]) -> str:
    if torch["version"] is None:
        return _version(torch)
    gpus = "" if torch["build"] == "CPU" or torch["gpus"] is None else f", {torch['gpus'] or 'no'} GPU visible"
    return f"{torch['version']} ({torch['build']} build{gpus})"


def _hook(hook: dict[str, Any]) -> str:
    if hook["installed"] is None:
        return "not installed"
    return "installed" if hook["enabled"] else "switched off by TORCH_ACLNN_IMPORT_HOOK=0"


def _machine(found: dict[str, Any]) -> list[tuple[str, str]]:
    table = [("architecture", found["architecture"]), ("glibc", found["glibc"] or "unknown")]
    table += list(found["environment"].items())
    engine = found["engine"]
    if engine is not None:
        table += [("engine", _engine(engine)), ("its libraries", engine["directory"]), ("SoC", found["soc"] or "unknown")]
    if found["instruction_set"] is not None:
        table.append(("instruction set", found["instruction_set"]))
    return table


def _engine(engine: dict[str, Any]) -> str:
    version = f" {engine['version']}" if engine["version"] else ""
    if engine["kind"] == "cann":
        return f"CANN{version}"
    # The engine can also be installed outside the package, laid out like CANN.
    return f"host engine{version} (CPU; not an NPU)" + ("" if version else f", instead of CANN: {engine['directory']}")


def _operators(found: dict[str, Any]) -> list[tuple[str, str]]:
    libraries = enumerate(found["operator_libraries"], 1)
    table = [(f"operator library {number}", f"{library['file']}: {library['state']}") for number, library in libraries]
    return table + [(name, _library(path, found["engine"])) for name, path in found["entry_points"].items()]


def _library(path: str | None, engine: dict[str, Any]) -> str:
    """Return the path of the library, or only its name if it is the package's own."""
    if path is None:
        return "missing"
    own = engine["kind"] == "host" and engine["version"] is not None
    return Path(path).name if own and Path(path).parent == Path(engine["directory"]) else path
