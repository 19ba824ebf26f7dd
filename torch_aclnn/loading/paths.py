"""Where the engine's libraries and headers are installed."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def toolkit() -> Path:
    """Return the directory in which the engine is laid out as an installed CANN: what ``ASCEND_HOME_PATH`` names while it answers."""
    return _PACKAGE / "toolkit"


def libdir() -> Path:
    """Return the directory of the engine's shared libraries."""
    return toolkit() / "lib64"


def python_packages() -> Path:
    """Return the directory that has CANN's Python module ``acl``."""
    return toolkit() / "python" / "site-packages"


def includedir() -> Path:
    """Return the directory of the public headers (``acl/``, ``aclnn/`` and ``aclnnop/``)."""
    return toolkit() / "include"
