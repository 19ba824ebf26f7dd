"""Operators by name on streams that do their work later."""

from pathlib import Path

from support.subprocesses import host_mode, output_of

FREED_AFTER_THE_LAUNCH = f"""
import ctypes, sys, threading; sys.path.append({str(Path(__file__).parents[1])!r})
import torch_aclnn, torch
from torch_aclnn.loading.paths import libdir
from support.named_operators import NamedCall
from support.runtime import HOST_FUNCTION, Runtime

acl = Runtime(str(libdir() / "libascendcl.so"), mode=ctypes.RTLD_GLOBAL)
acl.ok("aclrtSetDevice", 0)
acl.aclGetRecentErrMsg()
go_on = threading.Event()
wait = HOST_FUNCTION(lambda _: go_on.wait() and None)
x = torch.ones(1 << 20)
with NamedCall(acl, "Square", [x], [x]) as call:
    acl.ok("aclrtLaunchHostFunc", None, wait, None)
    assert call.execute() == 0
    call.inputs[0].free_memory()
    go_on.set()
    print(acl.aclrtSynchronizeStream(None), acl.message())
"""


def test_memory_that_was_freed_after_the_launch_is_an_error():
    printed = output_of(FREED_AFTER_THE_LAUNCH, **host_mode("async"))
    expected = "Square: input 0: expected device memory of 4194304 bytes, got memory that was freed after the launch"
    assert printed.startswith("507015 ") and expected in printed
