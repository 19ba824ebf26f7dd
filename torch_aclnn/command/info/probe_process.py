"""The program of the process that :mod:`torch_aclnn.command.info.probe` starts."""

import ctypes
import importlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

import torch_aclnn_import_hook
from torch_aclnn._operators import OPERATORS
from torch_aclnn.command.info import libraries
from torch_aclnn.command.installation import own_version
from torch_aclnn.loading import custom_operators
from torch_aclnn.loading.cann import RUNTIME_LIBRARIES
from torch_aclnn.loading.engine import activate, answers_from_package, is_active
from torch_aclnn.loading.loader import library_of, loaded_library

_VERSION_BYTES = 4096  # the structure that CANN fills in begins with the version, and is smaller


class _Problem(Exception):
    """A problem that has been reported; it ends the process."""


class _Report:
    def __init__(self, file: TextIO) -> None:
        self._file = file

    def tell(self, key: str, value: Any) -> None:
        self._file.write(json.dumps([key, value]) + "\n")
        self._file.flush()  # the process may die at any time

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        self.tell("stage", name)
        try:
            yield
        except BaseException as error:
            # The import hook explains what torch_npu raises, which is not needed here.
            cause = error.__cause__ if name == "import torch_npu" and error.__cause__ is not None else error
            message = " ".join(str(cause).split())
            own = isinstance(error, (ImportError, ValueError)) and name == "engine"
            self.tell("problem", message if own else f"{name}: {type(cause).__name__}: {message}")
            raise _Problem from error


def main(report: str, imports: bool) -> None:
    """Write what is found to the file ``report``, a JSON list of key and value in each line."""
    with open(report, "w") as file, suppress(_Problem):
        _find_out(_Report(file), imports)
    os._exit(0)  # without what libraries do at the end of a process, which could fail


def _find_out(report: _Report, imports: bool) -> None:
    _set_trace_aside()
    of_cann = [Path(path, custom_operators.LIBRARY) for path in custom_operators.directories(os.environ, of_engine=False)]
    with report.stage("engine"):
        activate()
    _tell_engine(report)
    with report.stage("engine"):
        _initialise()
    with report.stage("import torch"):
        torch = importlib.import_module("torch")
        report.tell("gpus", torch.cuda.device_count())
    if not imports:
        return
    torch_aclnn_import_hook.install()  # as the package's own import does
    for package in ("torch_npu", "torch_aclnn"):
        with report.stage(f"import {package}"):
            importlib.import_module(package)
    from torch_aclnn import _C

    report.tell("instruction_set", _C.isa())
    _tell_engine(report)  # torch_npu has loaded CANN's libraries, if it is CANN
    searched = libraries.searched()
    left_out = [
        {"file": str(file), "state": "left out, because it is made for CANN" if file.exists() else "not found"}
        for file in of_cann
        if answers_from_package()
    ]
    report.tell("operator_libraries", [*left_out, *({"file": library.file, "state": library.state()} for library in searched)])
    found = {operator.entry_point: libraries.resolve(operator.entry_point, searched) for operator in OPERATORS}
    report.tell("entry_points", {name: path and str(path) for name, path in found.items()})


def _set_trace_aside() -> None:
    """Keep this process from overwriting the program's trace; aclInit refuses a file that cannot be written."""
    trace = os.environ.get("TORCH_ACLNN_HOST_TRACE", "")
    place = Path(trace) if Path(trace).exists() else Path(trace).absolute().parent
    if trace == "stderr" or os.access(place, os.W_OK):
        os.environ.pop("TORCH_ACLNN_HOST_TRACE", None)


def _initialise() -> None:
    """Initialise the device as a program does, so that the engine refuses variables that it cannot read."""
    runtime = loaded_library(RUNTIME_LIBRARIES[0])
    if runtime is None or not is_active():
        return
    runtime.aclGetRecentErrMsg.restype = ctypes.c_char_p
    if runtime.aclInit(None) != 0:
        raise ValueError(runtime.aclGetRecentErrMsg().decode(errors="replace").removeprefix("aclInit: "))
    runtime.aclFinalize()


def _tell_engine(report: _Report) -> None:
    try:
        # torch_npu loads CANN's library. If it cannot, this shows which one it would have loaded.
        runtime = loaded_library(RUNTIME_LIBRARIES[0]) or ctypes.CDLL(RUNTIME_LIBRARIES[0])
    except OSError:
        return
    runtime.aclrtGetSocName.restype = ctypes.c_char_p
    soc = runtime.aclrtGetSocName()
    report.tell("soc", soc.decode() if soc else None)
    kind = "host" if is_active() else "cann"
    number = own_version() if answers_from_package() else _cann_version(runtime) if kind == "cann" else None
    report.tell("engine", {"kind": kind, "version": number, "directory": str(library_of(runtime.aclInit).parent)})


def _cann_version(runtime: ctypes.CDLL) -> str | None:
    """Return what the documented aclsysGetCANNVersion says, or None where it says nothing."""
    if not hasattr(runtime, "aclsysGetCANNVersion"):
        return None
    found = ctypes.create_string_buffer(_VERSION_BYTES)
    return found.value.decode(errors="replace") if runtime.aclsysGetCANNVersion(0, found) == 0 else None
