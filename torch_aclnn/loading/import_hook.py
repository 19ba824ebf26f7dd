"""The steps of ``torch_aclnn_import_hook`` around the import of torch_npu, so that it finds the engine where no CANN answers."""

import importlib
import json
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from torch_aclnn.loading import (
    allocator_keys,
    atb,
    autograd_threads,
    changes,
    forked,
    inductor,
    launchers,
    megatron_alone,
    memory_blocks,
    missing_entry_points,
    rank_alone,
    triton_kernels,
)
from torch_aclnn.loading.cann import RUNTIME_LIBRARIES
from torch_aclnn.loading.engine import activate, answers_from_package, is_active, is_left_to_cann, load_what_needs_torch
from torch_aclnn.loading.hook_settings import GPU_IS_VISIBLE, OBSERVE, SETTINGS, SWITCH
from torch_aclnn.loading.loader import loaded_library
from torch_aclnn.loading.paths import python_packages
from torch_aclnn.loading.versions import check_versions, is_cuda_build

# Why torch_npu could not be imported, for the pytest plugin.
problems: list[str] = []

_PACKAGE, _EXTENSION = "torch_npu", "torch_npu._C"


def around_creation(fullname: str) -> AbstractContextManager[None]:
    """Return the context for the module's creation; that of torch_npu's extension module loads torch_npu's libraries."""
    return allocator_keys.set_aside() if fullname == _EXTENSION and is_cuda_build() else nullcontext()


def around_execution(fullname: str) -> AbstractContextManager[None]:
    """Return the context for the module's execution."""
    if fullname == _PACKAGE:
        return _with_engine()
    return changes.around_execution(fullname) if fullname in changes.AWAITED else nullcontext()


def module_acl(found: ModuleSpec | None) -> ModuleSpec | None:
    """Return the module ``acl`` of the toolkit while the engine answers, otherwise the module that was found.

    CANN's is linked against libraries that the process does not have while the engine answers.
    """
    answers = is_active() if loaded_library(RUNTIME_LIBRARIES[0]) is not None else not is_left_to_cann()
    return PathFinder.find_spec("acl", [str(python_packages())]) if answers else found


@contextmanager
def _with_engine() -> Iterator[None]:
    """Load the engine before torch_npu, and what needs torch after it; where CANN should be used, load nothing.

    Raises:
        ImportError: torch_npu cannot be imported; the message says why and what to do.

    """
    try:
        _load_engine()
    except (ImportError, OSError, ValueError) as error:
        raise _failure(str(error)) from error
    try:
        yield
        if answers_from_package():
            load_what_needs_torch()
            memory_blocks.watch()
            forked.prepare_children()
            autograd_threads.finish_at_exit()
            missing_entry_points.print_last(missing_entry_points.explain)
            inductor.refuse()
            atb.replace()
            triton_kernels.watch()
            if rank_alone.is_alone():
                rank_alone.answer_for_others()
                changes.make(rank_alone.CHANGES | megatron_alone.CHANGES)
            observe()
    except Exception as error:
        explanation = _explain(error)
        if explanation is None:
            raise
        raise _failure(explanation) from error


def observe() -> None:
    """Observe this process if the environment asks for it."""
    directory = os.environ.get(OBSERVE)
    if directory:
        settings = json.loads(Path(directory, SETTINGS).read_text())
        launchers.watch(settings["rank"])
        importlib.import_module("torch_aclnn.observation.observer").install(directory)


def _load_engine() -> None:
    if os.environ.get(SWITCH, "") not in ("", "0", "1"):
        raise ValueError(f"{SWITCH}: expected 0 or 1, got {os.environ[SWITCH]!r}")
    if not is_left_to_cann():
        activate()
    if answers_from_package():
        if rank_alone.is_alone():
            rank_alone.complete(os.environ)
        check_versions()
        memory_blocks.prepare()


def _explain(error: Exception) -> str | None:
    """Return why torch_npu could not be imported and what to do, or None if torch_npu's own error says both."""
    if not answers_from_package():
        try:
            activate()
        except ImportError as explanation:
            return str(explanation)
        return None
    if _gpu_is_visible():
        return f"{GPU_IS_VISIBLE}; set CUDA_VISIBLE_DEVICES= (to nothing) to use npu, or TORCH_DEVICE_BACKEND_AUTOLOAD=0 to use the GPU"
    return f"torch_npu cannot be imported on the host engine: {error}; `torch-aclnn info` shows what does not fit"


def _gpu_is_visible() -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and bool(torch.cuda.is_available())


def _failure(message: str) -> ImportError:
    problems.append(message)
    failure = ImportError(message)
    # torch raises an error of its own from this one, which names no remedy.
    missing_entry_points.print_last(lambda error: message if failure in _causes(error) else None)
    return failure


def _causes(error: BaseException) -> Iterator[BaseException]:
    while error.__cause__ is not None:
        error = error.__cause__
        yield error
