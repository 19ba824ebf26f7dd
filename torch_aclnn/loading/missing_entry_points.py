"""What to do where torch_npu does not find an entry point, or ends with an error that names nothing."""

import os
import re
import sys
from collections.abc import Callable
from types import TracebackType

_NOT_FOUND = re.compile(r"\b(acl\w+) or \1GetWorkspaceSize not (?:in libopapi\.so|found)")


def print_last(explain: Callable[[BaseException], str | None]) -> None:
    """Print what `explain` returns for an error below its traceback, if the error ends the program."""
    print_exception = sys.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        print_exception(kind, error, traceback)
        if explanation := explain(error):
            print(f"\ntorch_aclnn: {explanation}", file=sys.stderr)

    sys.excepthook = excepthook


def explain(error: BaseException) -> str | None:
    """Return what to do about the error, or None if the error has another cause."""
    if not isinstance(error, RuntimeError):
        return None
    if str(error).startswith("stoi") and os.environ.get("TORCH_NPU_LAZY_FUSION"):
        return "TORCH_NPU_LAZY_FUSION has torch_npu make kernels for an NPU's cores, which the host engine cannot run: unset it."
    found = _NOT_FOUND.search(str(error))
    return found and f"the host engine does not have {found[1]}; docs/missing_entry_point.md shows how a library of yours can have it."
