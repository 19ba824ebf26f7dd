"""The codes that the host engine returns (``include/torch_aclnn/error_codes.h``)."""

import ctypes
from ctypes import c_char_p, c_int
from dataclasses import dataclass
from typing import Any

from torch_aclnn.host import records
from torch_aclnn.host.registry import host_runtime

_Record = records.kind(code=c_int, name=c_char_p, layer=c_char_p, reason=c_char_p, surface=c_char_p)


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
    found: Any = table(ctypes.byref(count))[: count.value]
    described = (ErrorCode(r.code, r.name.decode(), r.layer.decode(), r.reason.decode(), r.surface.decode()) for r in found)
    return sorted(described, key=lambda code: code.number)
