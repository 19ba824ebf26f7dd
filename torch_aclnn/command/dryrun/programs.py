"""The program of a dry run: what Python is to run, and why it cannot be run."""

import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from torch_aclnn.loading.hook_settings import SWITCH

Refuse = Callable[[str], object]

_FLAGS, _WITH_VALUE, _ENDS = "bBdEiIOPqsSuvx", "WX", "cm"
_PYTHON = re.compile(r"python[\d.]*")
_HOOK = "import sys; sys.exit('torch_aclnn_import_hook' not in sys.modules)"


def runnable(program: Sequence[str], refuse: Refuse) -> list[str]:
    """Return the words behind ``python``. For a launcher such as torchrun they begin with the path of the launcher's script.

    Args:
        program: the command line behind the options of dryrun.
        refuse: is called with the reason if it cannot be run, and does not return.

    """
    rest = list(program[1:] if _PYTHON.fullmatch(Path(program[0]).name) and len(program) > 1 else program)
    options = options_of(rest)
    if len(options) == len(rest):
        refuse(f"expected a script, -c or -m behind {' '.join(rest)}")
    kind = rest[len(options)]
    if kind.partition("=")[0] == "--product":
        refuse("--product: is now --card")
    elif kind.startswith("--"):
        refuse(f"expected an option that dryrun has, or a program, got {kind}")
    elif kind.startswith("-m"):
        module = kind[2:] or (rest[len(options) + 1 :] or [""])[0]
        if not _has_module(module.partition(".")[0]):
            refuse(f"-m: expected a module that is installed or in this folder, got {module or 'nothing'}")
    elif kind.startswith("-c"):
        if len(kind) == 2 and len(rest) == len(options) + 1:
            refuse("-c: expected a program, got nothing")
    elif kind != "-" and kind.startswith("-"):
        refuse(f"expected an option that dryrun or Python has, or a program, got {kind}")
    elif kind != "-":
        rest[len(options)] = _script(kind, refuse)
    return rest


def options_of(program: Sequence[str]) -> list[str]:
    """Return the options of Python in front of a script, -c or -m."""
    position = 0
    while position < len(program):
        word = program[position]
        if not word.startswith("-") or not word.strip("-") or (not set(word[1:]) <= set(_FLAGS) and word[1] not in _WITH_VALUE):
            break
        position += 2 if word[1:] in tuple(_WITH_VALUE) else 1
    return list(program[:position])


def problem_of_hook(program: Sequence[str], environment: Mapping[str, str]) -> str | None:
    """Return why the import hook, with which torch finds the engine, would not act in the program."""
    options = options_of(program)
    if subprocess.run([sys.executable, *options, "-c", _HOOK], env=environment, check=False).returncode == 0:
        return None
    if environment.get(SWITCH) == "0":
        return f"{SWITCH}: expected to be unset, since the program finds the engine by the import hook, got 0"
    if any("S" in word for word in options):
        return "-S: expected a program without it, since the import hook is a .pth file, which Python then does not read"
    return (
        f"expected the import hook in the environment of {sys.executable}: install torch_aclnn there, or copy torch_aclnn_import_hook.pth"
    )


def _has_module(name: str) -> bool:
    if not name:
        return False
    return importlib.machinery.PathFinder.find_spec(name, [os.getcwd()]) is not None or importlib.util.find_spec(name) is not None


def _script(name: str, refuse: Refuse) -> str:
    """Return the script of that name, or of the command of that name, if that is a script of Python."""
    if (Path(name) / "__main__.py").is_file():
        return name
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    found = name if Path(name).is_file() else shutil.which(name, path=path)
    if found is None:
        refuse(f"expected a script that is there, or a command such as torchrun, got {name}")
    elif not name.endswith(".py") and re.match(rb"\x7fELF|#!(?!.*python|/bin/sh\n'''exec)", Path(found).read_bytes()):
        refuse(f"expected a script of Python, or a command that is one, got {found}")
    return str(found)
