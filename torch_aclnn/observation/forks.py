"""A process that has imported torch, torch_npu and what a program imports, and runs the program in forks of itself.

Its standard input has a line of JSON for each fork: ``program``, what follows `python`; ``environment``, the fork's further variables;
and ``output``, the file for what the program prints. For each fork that has ended it writes a line with the exit code to the descriptor
that its first argument names.
"""

import ast
import atexit
import contextlib
import ctypes
import gc
import json
import os
import runpy
import signal
import sys
import types
from pathlib import Path
from typing import Any

import torch_npu
from torch_aclnn.loading import autograd_threads, forked, import_hook

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Import what the first program imports, then answer requests until the input ends."""
    answers, program = int(sys.argv[1]), json.loads(sys.argv[2])
    _import_for(program)
    if torch_npu.npu.is_initialized():
        sys.exit(f"the imports of {program[0]} use the npu device, so that no copy of their process could")
    request = _next_request(answers)
    os.environ.update(request["environment"])
    atexit.register(forked.shutdown())
    autograd_threads.finish_at_exit()
    import_hook.observe()
    _run(request["program"])


def _next_request(answers: int) -> dict[str, Any]:
    """Read requests; return in each fork, with the request that the fork shall run."""
    gc.freeze()  # a collection in a fork would write to every page that holds an object, which copies the page
    os.write(answers, b"ready\n")
    for line in sys.stdin:
        request: dict[str, Any] = json.loads(line)
        process = os.fork()
        if process == 0:
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)  # a fork ends with this process
            _redirect(request["output"])
            os.close(answers)
            return request
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        os.write(answers, f"{code if code >= 0 else 128 - code}\n".encode())
    sys.stdout.flush()
    os._exit(0)


def _redirect(output: str) -> None:
    streams = os.open(os.devnull, os.O_RDONLY), os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number, stream in enumerate((*streams, streams[1])):
        os.dup2(stream, number)
    sys.stdin = open(0)  # noqa: SIM115  # the program's


def _import_for(program: list[str]) -> None:
    """Run the script's import statements of installed packages; a failure is ignored here, as the program will report it."""
    with contextlib.suppress(OSError, SyntaxError, ValueError):
        for statement in ast.parse(Path(program[0]).read_text()).body if not program[0].startswith("-") else ():
            if isinstance(statement, ast.Import | ast.ImportFrom) and all(map(_is_installed, _modules(statement))):
                with contextlib.suppress(Exception):
                    exec(compile(ast.Module([statement], []), program[0], "exec"), {})


def _modules(statement: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    return [statement.module or "" if statement.level == 0 else ""]


def _is_installed(module: str) -> bool:
    top = module.partition(".")[0]
    packages = [Path(folder) for folder in sys.path if folder.endswith("-packages")]
    return top in sys.stdlib_module_names or (top != "" and any((folder / top).is_dir() for folder in packages))


def _run(program: list[str]) -> None:
    while program[0].startswith("-") and program[0][:2] not in ("-c", "-m"):
        program = program[1:]  # options of Python, with which this process was started already
    if program[0][:2] in ("-c", "-m") and len(program[0]) > 2:
        program = [program[0][:2], program[0][2:], *program[1:]]
    kind, rest = program[0], program[1:]
    if kind == "-c":
        sys.argv, sys.path[0] = ["-c", *rest[1:]], ""
        sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(rest[0], "<string>", "exec"), vars(sys.modules["__main__"]))
    elif kind == "-m":
        sys.argv, sys.path[0] = rest, os.getcwd()
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv, sys.path[0] = program, str(Path(kind).parent)
        runpy.run_path(kind, run_name="__main__")
