"""Marks for tests that hold only under some circumstances."""

import ctypes
import os

import torch_aclnn
import pytest
import torch

host_engine_only = pytest.mark.skipif(not torch_aclnn.host.is_active(), reason="a promise of the host engine, not of an NPU")

without_import_hook = pytest.mark.skipif(
    torch.version.cuda is not None, reason="torch_npu aborts beside torch's CUDA build if the import hook is off"
)

needs_stack_of_python = pytest.mark.skipif(
    not hasattr(ctypes.pythonapi, "_Py_DumpTraceback"), reason="this version of Python does not export the function that prints a stack"
)

# The engine takes nothing that the documents do not promise.
STRICT = os.environ.get("TORCH_ACLNN_HOST_STRICT") == "1"

# Under queue mode 2 the refusal of torch_npu's own call would come late, and torch_npu would drop all that follows.
beyond_the_documents = pytest.mark.skipif(STRICT, reason="torch_npu's own operators are called beyond the documents, which strict refuses")


def skip_with(first: str, last: str, shortcoming: str) -> None:
    """Skip the rest of the test with the minor versions of torch and torch_npu, from the first to the last, that have a shortcoming."""
    if _installed(first, last):
        pytest.skip(_reason(first, last, shortcoming))


def skipped_with(first: str, last: str, shortcoming: str) -> pytest.MarkDecorator:
    """Return a mark for what `skip_with` would skip."""
    return pytest.mark.skipif(_installed(first, last), reason=_reason(first, last, shortcoming))


def _installed(first: str, last: str) -> bool:
    return _numbers(first) <= _numbers(torch.__version__) <= _numbers(last)


def _reason(first: str, last: str, shortcoming: str) -> str:
    versions = first if first == last else f"{first} to {last}"
    return f"torch_npu {versions}: {shortcoming}"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.split(".")[:2])
