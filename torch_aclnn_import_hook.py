"""Loads the engine when torch_npu is imported, so that code which imports torch first runs unchanged; and finds its module ``acl``.

Python runs :func:`install` as it starts, in every environment where torch_aclnn is installed (``torch_aclnn_import_hook.pth``). So this
module imports nothing but ``sys``, and loads nothing, before torch_npu or acl is imported. ``TORCH_ACLNN_IMPORT_HOOK=0`` switches it off.

pytest would warn that it cannot rewrite the assertions of a module which is imported so early: PYTEST_DONT_REWRITE
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.abc import Loader as AnyLoader
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any


class Loader:
    """Loads a module as its own loader does, within what :mod:`torch_aclnn.loading.import_hook` puts around it."""

    def __init__(self, loader: "AnyLoader", fullname: str) -> None:
        self._loader = loader
        self._fullname = fullname

    def __getattr__(self, name: str) -> "Any":
        return getattr(self._loader, name)

    def create_module(self, spec: "ModuleSpec") -> "ModuleType | None":
        """Create the module; where it is an extension module, this loads its libraries."""
        with _host_hook().around_creation(self._fullname):
            return self._loader.create_module(spec)

    def exec_module(self, module: "ModuleType") -> None:
        """Run the module."""
        module.__loader__ = module.__spec__.loader = self._loader  # type: ignore[union-attr]
        with _host_hook().around_execution(self._fullname):
            self._loader.exec_module(module)


class Finder:
    """Finds torch_npu and its extension module as the other finders do, and changes how they are loaded; and CANN's module ``acl``.

    :mod:`torch_aclnn.loading.changes` has it watch for other packages' modules, too.
    """

    watched = ("torch_npu", "torch_npu._C", "acl")

    @classmethod
    def find_spec(cls, fullname: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None) -> "ModuleSpec | None":
        """Return the module's spec, or None for any other module."""
        if fullname not in cls.watched:
            return None
        others = (finder for finder in sys.meta_path if finder is not cls and hasattr(finder, "find_spec"))
        found = next(filter(None, (finder.find_spec(fullname, path, target) for finder in others)), None)
        if fullname == "acl":
            # A program's own module ``acl`` is kept, unless it is a mere folder; CANN's is an extension module.
            is_own = found is not None and found.origin is not None and not found.origin.endswith(".so")
            return found if is_own else _host_hook().module_acl(found)
        if found is not None and found.loader is not None:
            found.loader = Loader(found.loader, fullname)  # type: ignore[assignment]
        return found


def install() -> None:
    """Watch for the import of torch_npu from now on. A second call changes nothing."""
    if Finder not in sys.meta_path:
        sys.meta_path.insert(0, Finder)


def _host_hook() -> "Any":
    from importlib.util import module_from_spec, spec_from_file_location

    # The file beside this one is loaded, because the working directory may have another module of the name.
    spec = spec_from_file_location("torch_aclnn_command", __file__.removesuffix("import_hook.py") + "command.py")
    assert spec is not None and spec.loader is not None
    command = module_from_spec(spec)
    spec.loader.exec_module(command)
    with command.bare_package():
        from torch_aclnn.loading import import_hook
    return import_hook
