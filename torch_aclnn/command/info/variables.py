"""The environment variables that the package reads, and those that only look like one."""

import difflib
from collections.abc import Iterable

PREFIX = "TORCH_ACLNN_"

# docs/environment.md describes them.
_OF_THE_PACKAGE = ("ENGINE", "IMPORT_HOOK", "ISA", "LOOP")
_OF_THE_ENGINE = (
    *("ASYNC", "CANN", "CHECK_COLLECTIVES", "CHECK_STREAMS", "COMPUTE", "COVERAGE", "DELAYS", "DEVICES", "FAULT", "FINDINGS", "FLOAT64"),
    *("HF32", "ISOLATE", "KEEP_HANDLES", "KNOWN", "LEAKS", "MEMORY", "OBSERVE", "POISON", "RANK_ALONE", "SOC", "STRICT"),
    *("THREADS", "TRACE", "UNSPECIFIED", "WORKSPACE"),
)
VARIABLES = tuple(PREFIX + name for name in (*_OF_THE_PACKAGE, *(f"HOST_{name}" for name in _OF_THE_ENGINE)))


def unknown(names: Iterable[str]) -> dict[str, str | None]:
    """Return the names that begin like ours and that nothing reads, each with the one that is probably meant, or None."""
    known = [name.removeprefix(PREFIX) for name in VARIABLES]  # the prefix alone would make any two alike
    strangers = [name.removeprefix(PREFIX) for name in names if name.startswith(PREFIX) and name not in VARIABLES]
    nearest = {name: difflib.get_close_matches(name, known, n=1) for name in strangers}
    return {PREFIX + name: PREFIX + found[0] if found else None for name, found in nearest.items()}
