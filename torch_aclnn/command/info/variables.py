"""The environment variables that the package reads, and names that are probably misspelt ones."""

import difflib
from collections.abc import Iterable

from torch_aclnn.loading.modes import VARIABLE, WORDS

PREFIX = "TORCH_ACLNN_"

# docs/environment.md describes the variables.
_OF_THE_PACKAGE = ("ENGINE", "IMPORT_HOOK", "ISA", "LOOP")
_OF_THE_ENGINE = (
    *("CANN", "CHECK_COLLECTIVES", "COMPUTE", "DELAYS", "DEVICES", "EXPERT_LOAD", "FAULT", "KNOWN"),
    *("MEMORY", "MODE", "RANK_ALONE", "SOC", "THREADS", "TRACE"),
)
VARIABLES = tuple(PREFIX + name for name in (*_OF_THE_PACKAGE, *(f"HOST_{name}" for name in _OF_THE_ENGINE)))
# What `coverage`, `debug` and `dryrun` set for the processes of a program.
OF_COMMANDS = tuple(f"{PREFIX}HOST_{name}" for name in ("COVERAGE", "FINDINGS", "OBSERVE"))
# In earlier releases each mode had a variable of its own.
_FORMER = {f"{PREFIX}HOST_{word.upper()}": f"{VARIABLE}={word}" for word in WORDS}


def unknown(names: Iterable[str]) -> dict[str, str | None]:
    """Return the names that begin like ours and that nothing reads, each with what is probably meant, or None."""
    meant = {name.removeprefix(PREFIX): _FORMER.get(name, name) for name in (*VARIABLES, *_FORMER)}  # the prefix would make any two similar
    strangers = [name for name in names if name.startswith(PREFIX) and name not in (*VARIABLES, *OF_COMMANDS)]
    nearest = {name: difflib.get_close_matches(name.removeprefix(PREFIX), meant, n=1) for name in strangers}
    return {name: meant[found[0]] if found else None for name, found in nearest.items()}
