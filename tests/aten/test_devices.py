"""Entry points on ATen's kernels with two devices, after one was reset, and after aclFinalize: refused, and nothing is computed."""

from pathlib import Path

import pytest

from support.subprocesses import output_of

START = f"""
import sys; sys.path[:0] = [{str(Path(__file__).parents[1])!r}, {str(Path(__file__).parent)!r}]
import ctypes, torch, torch_npu
import direct
from direct import call, refusal, scalar
x, y, out = (torch.ones(4, device=f"npu:{{index}}") for index in (0, 1, 0))
for device in (0, 1): torch.npu.synchronize(device)
acl = ctypes.CDLL("libascendcl.so")
def phase2(*arguments, stream):
    status, executor, _ = direct._prepare("aclnnAdd", arguments)
    assert status == 0, direct.client().message()
    code = ctypes.CDLL("libaclnn_math.so").aclnnAdd(None, ctypes.c_uint64(0), executor, ctypes.c_void_p(stream))
    return code, direct.client().message()
one = scalar(1)
"""
REFUSALS = {
    "inputs": ("refusal('aclnnAdd', x, y, one, out)", 161002, "other: expected memory of device 0 like self, got memory of device 1"),
    "output": ("refusal('aclnnAdd', x, x, one, y)", 161002, "out: expected memory of device 0 like self, got memory of device 1"),
    "list": ("refusal('aclnnCat', (x, y), 0, torch.ones(8, device='npu:0'))", 161002, "tensors: expected memory of device 0 like tensors"),
    "stream": (
        "phase2(x, x, one, out, stream=torch.npu.current_stream(1).npu_stream)",
        361001,
        "self: expected memory of device 1, as the stream is",
    ),
    "reset": ("(acl.aclrtResetDevice(0), *phase2(x, x, one, out, stream=torch.npu.current_stream(0).npu_stream))[1:]", 361001, "reset"),
    "finalized": ("(acl.aclFinalize(), *refusal('aclnnAdd', x, x, one, out))[1:]", 361001, "the process has called aclFinalize"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_call_is_refused(name):
    call, code, words = REFUSALS[name]
    printed = output_of(START + f"print(*{call}, flush=True); import os; os._exit(0)", TORCH_ACLNN_HOST_DEVICES="2", LOCAL_WORLD_SIZE="1")
    assert printed.startswith(f"{code} "), printed
    assert words in printed
