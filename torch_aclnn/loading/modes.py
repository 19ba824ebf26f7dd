"""The modes of the host engine, which are the words of one environment variable."""

import os
from collections.abc import Collection

VARIABLE = "TORCH_ACLNN_HOST_MODE"

# docs/environment.md describes them, and csrc/engine/runtime/config/config.cpp reads them.
WORDS = (
    "async",
    "check_streams",
    "float64",
    "hf32",
    "isolate",
    "keep_handles",
    "leaks",
    "npu_workspace",
    "poison",
    "strict",
    "unspecified",
    "workspace",
)


def is_on(word: str) -> bool:
    """Return whether the variable has the word."""
    return word in _words()


def host_mode(*added: str, without: Collection[str] = ()) -> dict[str, str]:
    """Return the value of the variable for a new process: the words that it has now, without some, and with others."""
    return {VARIABLE: ",".join(dict.fromkeys([*(word for word in _words() if word not in without), *added]))}


def _words() -> list[str]:
    return [word.strip(" ") for word in os.environ.get(VARIABLE, "").split(",") if word.strip(" ")]
