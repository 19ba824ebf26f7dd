"""Changes of other packages' modules, each made once the module has been executed."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

AWAITED: dict[str, Callable[[Any], None]] = {}


def make(changes: Mapping[str, Callable[[Any], None]]) -> None:
    """Change the modules of these names, also those that are imported later."""
    for name, change in changes.items():
        if name in sys.modules:
            change(sys.modules[name])
        else:
            AWAITED[name] = change
            sys.modules["torch_aclnn_import_hook"].Finder.watched += (name,)


@contextmanager
def around_execution(fullname: str) -> Iterator[None]:
    """Change an awaited module after its execution."""
    yield
    AWAITED[fullname](sys.modules[fullname])
