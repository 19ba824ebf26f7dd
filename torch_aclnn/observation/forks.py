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
import importlib.util
import itertools
import json
import os
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

import torch_npu
from torch_aclnn.loading import autograd_threads, forked, import_hook

from torch_aclnn_command import run_program

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Import what the first program imports, then answer requests until the input ends."""
    answers, program = int(sys.argv[1]), json.loads(sys.argv[2])
    sys.argv = program
    import_for(program)
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


def import_for(program: list[str]) -> None:
    """Import, in the order of the program, the installed packages that the script and its own modules import.

    A failure is ignored here, as the program will report it.
    """
    if not program[0].startswith("-"):
        script = Path(program[0])
        gc.disable()  # its collections find nothing
        with warnings.catch_warnings(record=True):  # nobody reads them
            _run_imports(script, [script.parent, *map(Path, sys.path[1:])])
        gc.enable()


def _run_imports(script: Path, folders: list[Path]) -> None:
    """Run the statements that import installed packages, and follow those that import modules in the folders."""
    seen, pending = {script}, _imports(script, "")
    while pending:
        statement, package = pending.pop()
        modules = _modules(statement, package)
        if all(_is_installed(module, folders) for module in modules):
            with contextlib.suppress(Exception):
                exec(compile(ast.Module([statement], []), "<import>", "exec"), {})
            continue
        names = [name for module in modules for name in itertools.accumulate(module.split("."), "{}.{}".format)]
        for name in reversed(dict.fromkeys(names)):
            file = _file_of(name, folders)
            if file is not None and file not in seen:
                seen.add(file)
                pending += _imports(file, name if file.stem == "__init__" else name.rpartition(".")[0])


def _imports(file: Path, package: str) -> list[tuple[ast.Import | ast.ImportFrom, str]]:
    """Return the import statements of a file, the last one first, each with the package that it is in."""
    try:
        statements = ast.parse(file.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return []
    return [(one, package) for one in reversed(statements) if isinstance(one, ast.Import | ast.ImportFrom)]


def _modules(statement: ast.Import | ast.ImportFrom, package: str) -> list[str]:
    """Return what a statement may import; nothing if it leads out of its package."""
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    try:
        begin = importlib.util.resolve_name("." * statement.level + (statement.module or ""), package)
    except ImportError:
        return []
    return [begin, *(f"{begin}.{alias.name}" for alias in statement.names)]


def _file_of(module: str, folders: list[Path]) -> Path | None:
    paths = (folder.joinpath(*module.split(".")) for folder in folders)
    files = (file for path in paths for file in (path / "__init__.py", path.with_suffix(".py")))
    return next(filter(Path.is_file, files), None)


def _is_installed(module: str, folders: list[Path]) -> bool:
    top = module.partition(".")[0]
    found = next((folder for folder in folders if (folder / top).is_dir() or (folder / f"{top}.py").is_file()), None)
    return top in sys.stdlib_module_names or (found is not None and found.name.endswith("-packages"))


def _run(program: list[str]) -> None:
    while program[0].startswith("-") and program[0][:2] not in ("-c", "-m"):
        program = program[1:]  # options of Python, with which this process was started already
    if program[0][:2] in ("-c", "-m") and len(program[0]) > 2:
        program = [program[0][:2], program[0][2:], *program[1:]]
    run_program(program)
