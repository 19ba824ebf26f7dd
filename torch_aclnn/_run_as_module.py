"""Whether this process is ``python -m torch_aclnn``, which imports the package before its ``__main__``."""

import re
import sys
from collections.abc import Sequence

_OPTION = re.compile(r"(-[A-Za-z]*m)?torch_aclnn(\.__main__)?")  # also `-mtorch_aclnn`


def is_command(arguments: Sequence[str] = sys.argv, original: Sequence[str] = sys.orig_argv) -> bool:
    """Return whether Python is about to run the command line, and needs nothing of the package but its place.

    While ``python -m`` imports the parent of what it runs, ``sys.argv[0]`` is ``-m``; afterwards it is a file.

    Args:
        arguments: ``sys.argv``.
        original: ``sys.orig_argv``, which has the same arguments behind the name of the module.

    """
    return arguments[:1] == ["-m"] and len(original) > len(arguments) and bool(_OPTION.fullmatch(original[-len(arguments)]))
