"""Loads the engine when anything imports torch_npu, so that code that imports torch first runs unchanged."""

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from torch_aclnn.host.engine import activate, load_aten_adapters

_WATCHED = "torch_npu"


class _Finder(MetaPathFinder):
    """Finds torch_npu as the other finders do, and has the engine loaded along with it."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname != _WATCHED:
            return None
        specs = (finder.find_spec(fullname, path, target) for finder in sys.meta_path if finder is not self)
        found = next((spec for spec in specs if spec is not None), None)
        if found is not None and found.loader is not None:
            found.loader = _Loader(found.loader, self._report)
        return found


class _Loader(Loader):
    """Runs the module's own loader after what must precede torch_npu and before what needs torch."""

    def __init__(self, loader: Loader, report: Callable[[str], None]) -> None:
        self._loader = loader
        self._report = report

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._attempt(activate)
        self._loader.exec_module(module)
        self._attempt(load_aten_adapters)

    def _attempt(self, load: Callable[[], None]) -> None:
        try:
            load()
        except (ImportError, OSError, ValueError) as error:
            self._report(str(error))


def install(report: Callable[[str], None]) -> None:
    """Watch for the import of torch_npu from now on; nothing is loaded before it.

    Args:
        report: called with the message if the engine cannot be loaded; the import then goes on without it.

    """
    sys.meta_path.insert(0, _Finder(report))
