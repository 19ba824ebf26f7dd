"""The devices of the host engine, read from its library in this process, without torch."""

import ctypes
from dataclasses import dataclass

from torch_aclnn.loading.paths import libdir

_HBM = 1  # of aclrtMemAttr; the engine has only one kind of memory
_MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Device:
    """A device as a process that has just started finds it.

    Attributes:
        index: its number.
        soc: the chip that it presents, as ``Ascend910B3``.
        total: its memory, in MiB.
        used: how much of it this process uses, in MiB; each process has devices of its own.

    """

    index: int
    soc: str
    total: int
    used: int

    @property
    def chip(self) -> str:
        """The chip without the family's name, as ``910B3``."""
        return self.soc.removeprefix("Ascend")

    @property
    def has_hbm(self) -> bool:
        """Whether its memory is HBM; chips for inference have DDR."""
        return not self.chip.startswith("310")


def devices() -> list[Device]:
    """Return the devices of the engine, as the environment variables configure it.

    Raises:
        OSError: the engine's library does not load.
        RuntimeError: the configuration is refused, with the engine's message.

    """
    runtime = ctypes.CDLL(str(libdir() / "libascendcl.so"))
    runtime.aclrtGetSocName.restype = runtime.aclGetRecentErrMsg.restype = ctypes.c_char_p

    def call(name: str, *arguments: object) -> None:
        if getattr(runtime, name)(*arguments) != 0:
            raise RuntimeError((runtime.aclGetRecentErrMsg() or name.encode()).decode(errors="replace"))

    count = ctypes.c_uint32()
    call("aclInit", None)
    call("aclrtGetDeviceCount", ctypes.byref(count))
    found = []
    for index in range(count.value):
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        call("aclrtSetDevice", index)
        call("aclrtGetMemInfo", _HBM, ctypes.byref(free), ctypes.byref(total))
        used = total.value - free.value
        found.append(Device(index, runtime.aclrtGetSocName().decode(), total.value // _MEBIBYTE, used // _MEBIBYTE))
    call("aclFinalize")
    return found
