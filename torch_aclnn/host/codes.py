"""The codes that the host engine returns (``include/torch_aclnn/error_codes.h``)."""

import ctypes
from dataclasses import dataclass

from torch_aclnn.host.registry import host_runtime


class _Record(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_int),
        ("name", ctypes.c_char_p),
        ("layer", ctypes.c_char_p),
        ("reason", ctypes.c_char_p),
        ("surface", ctypes.c_char_p),
    )


@dataclass(frozen=True)
class ErrorCode:
    """A code that a function of the engine can return.

    Attributes:
        number: the code, as 161002.
        name: its published name, as ``ACLNN_ERR_PARAM_INVALID``.
        layer: ``"runtime"``, ``"operators"`` or ``"collectives"``.
        reason: when the engine returns it.
        surface: which functions return it.

    """

    number: int
    name: str
    layer: str
    reason: str
    surface: str


def error_codes() -> list[ErrorCode]:
    """Return every code that a function of the engine can return, other than 0, in ascending order.

    Raises:
        RuntimeError: CANN answers on the ``npu`` device.

    Example:
        >>> import torch_aclnn
        >>> from torch_aclnn.host.codes import error_codes
        >>> next(code.name for code in error_codes() if code.number == 161002)
        'ACLNN_ERR_PARAM_INVALID'

    """
    count = ctypes.c_size_t()
    table = host_runtime().torchAclnnHostErrorCodes
    table.restype = ctypes.POINTER(_Record)
    records = table(ctypes.byref(count))
    found = [records[i] for i in range(count.value)]
    described = (ErrorCode(r.code, r.name.decode(), r.layer.decode(), r.reason.decode(), r.surface.decode()) for r in found)
    return sorted(described, key=lambda code: code.number)
