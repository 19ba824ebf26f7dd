"""Uses another process's memory: `import_memory.py <libdir> key|number <which>` prints a code, and a message or the bytes."""

import ctypes
import json
import sys
from collections.abc import Callable
from ctypes import byref, c_void_p
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

from support.runtime import Runtime

PIECE = 2 << 20
acl = Runtime(sys.argv[1] + "/libascendcl.so")
acl.ok("aclrtSetDevice", 0)
made = c_void_p()


def use(address: int) -> bytes:
    found = acl.read(address, 4)
    acl.ok("aclrtMemset", address, 2, 7, 2)
    return found


def use_key(key: bytes) -> bytes:
    found = use(made.value)
    acl.refuses(107000, "goes on for 4096 bytes", "aclrtMemset", made, 5000, 7, 5000)
    acl.refuses(107000, "memory from aclrtMalloc", "aclrtFree", made)
    acl.refuses(107000, "has not imported yet", "aclrtIpcMemImportByKey", byref(c_void_p()), key, 0)
    acl.ok("aclrtIpcMemClose", key)
    acl.refuses(107000, "memory that was freed", "aclrtMemset", made, 2, 7, 2)
    acl.refuses(107000, "exported or imported", "aclrtIpcMemClose", key)
    return found


def use_number(_: bytes) -> bytes:
    address = acl.create("aclrtReserveMemAddress", PIECE, 0, None, 1)
    acl.ok("aclrtMapMem", address, PIECE, 0, made, 0)
    found = use(address)
    acl.refuses(107000, "memory of this process", "aclrtMemExportToShareableHandle", made, 0, 1, byref(ctypes.c_uint64()))
    acl.ok("aclrtUnmapMem", address)
    acl.ok("aclrtFreePhysical", made)
    return found


IMPORTS: dict[str, tuple[Callable[[bytes], int], Callable[[bytes], bytes]]] = {
    "key": (lambda key: acl.aclrtIpcMemImportByKey(byref(made), key, 0), use_key),
    "number": (lambda number: acl.aclrtMemImportFromShareableHandle(int(number), 0, byref(made)), use_number),
}
import_memory, use_it = IMPORTS[sys.argv[2]]
which = sys.argv[3].encode()
code = import_memory(which)
print(json.dumps([code, acl.message() if code else list(use_it(which))]))
