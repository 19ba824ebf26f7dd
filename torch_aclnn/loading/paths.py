"""Where the engine's libraries and headers are installed."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def toolkit() -> Path:
    """Return the directory in which the engine is laid out as an installed CANN: what ``ASCEND_HOME_PATH`` names while it answers."""
    return _PACKAGE / "toolkit"


def libdir() -> Path:
    """Return the directory of the engine's shared libraries.

    Example:
        >>> import torch_aclnn
        >>> (torch_aclnn.host.libdir() / "libascendcl.so").exists()
        True

    """
    return toolkit() / "lib64"


def python_packages() -> Path:
    """Return the directory that has CANN's Python module ``acl``."""
    return toolkit() / "python" / "site-packages"


def includedir() -> Path:
    """Return the directory of the public headers (``acl/``, ``aclnn/`` and ``aclnnop/``).

    Example:
        >>> import torch_aclnn
        >>> (torch_aclnn.host.includedir() / "acl" / "acl.h").exists()
        True

    """
    return toolkit() / "include"
