"""libascendcl.so, with shorthands for what every test does."""

import ctypes
from ctypes import c_int, c_uint32, c_uint64, c_void_p

from support.library import Library

ANY_DIRECTION = 4  # ACL_MEMCPY_DEFAULT
HOST_FUNCTION = ctypes.CFUNCTYPE(None, c_void_p)


class PhysicalProperties(ctypes.Structure):
    """aclrtPhysicalMemProp; zeros are device 0's memory."""

    _fields_ = (
        ("handle_type", c_int),
        ("allocation_type", c_int),
        ("memory_attribute", c_int),
        ("device", c_uint32),
        ("location_type", c_int),
        ("reserved", c_uint64),
    )


class Runtime(Library):
    """libascendcl.so."""

    def message(self) -> str:
        """Return the message of this thread's last error, and clear it."""
        return self.aclGetRecentErrMsg().decode(errors="backslashreplace")

    def ok(self, name: str, *arguments) -> None:
        """Call what must succeed."""
        code = getattr(self, name)(*arguments)
        assert code == 0, f"{name}: {code}, {self.message()}"

    def refuses(self, code: int, words: str, name: str, *arguments) -> None:
        """Call what must be refused: with the code, and with one message that has the name and the words."""
        assert getattr(self, name)(*arguments) == code
        message = self.message()
        assert message.startswith(f"{name}: "), message
        assert words in message, message

    def write(self, address: int, content: bytes) -> None:
        """Put bytes into device memory, which the program itself may not be able to touch."""
        self.ok("aclrtMemcpy", address, len(content), content, len(content), ANY_DIRECTION)

    def read(self, address: int, size: int) -> bytes:
        """Return bytes of device memory."""
        if size == 0:
            return b""
        target = ctypes.create_string_buffer(size)
        self.ok("aclrtMemcpy", target, size, address, size, ANY_DIRECTION)
        return target.raw

    def create(self, name: str, *arguments) -> int:
        """Call what makes a handle or an address, and return it."""
        made = c_void_p()
        self.ok(name, ctypes.byref(made), *arguments)
        assert made.value is not None
        return made.value
