"""The headers of entry points: those that CANN's documents name, and where none does, the name of the entry point in snake case."""

import re
from collections.abc import Collection
from fnmatch import fnmatchcase
from pathlib import Path

_TABLE = Path(__file__).with_suffix(".tsv")
_ROWS = [line.split("\t") for line in _TABLE.read_text().splitlines() if not line.startswith("#")]


def header_name(entry_point: str, others: Collection[str]) -> str:
    """Return the file in include/aclnnop that declares an entry point.

    Args:
        entry_point: its name.
        others: the names of all: the form for a number, such as ``aclnnAdds``, is in the header of ``aclnnAdd``.

    """
    names = entry_point, entry_point.replace("Inplace", "", 1)
    for pattern, header in _ROWS:
        if any(fnmatchcase(name, pattern) for name in names):
            return header
    if entry_point.endswith("s") and entry_point[:-1] in others:
        return header_name(entry_point[:-1], others)
    prefix, name = re.fullmatch(r"(acl(?:nn)?)(?:Inplace)?(\w+)", entry_point).groups()
    # Before a capital behind a small letter or a digit, and before the last capital of several: NLLLoss2dBackward, nll_loss2d_backward.
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", re.sub(r"(\d)D\b|(\d)D(?=[A-Z])", r"\1\2d", name))
    return f"{prefix}_{words.lower()}.h"
