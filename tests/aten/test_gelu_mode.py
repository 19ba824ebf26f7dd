"""gelu's `approximate`, which torch_npu passes on only under its switch: both forms with it, and a warning without."""

import pytest
from torch_aclnn.loading.paths import libdir

from support.subprocesses import run_python

# On products before A2 torch_npu calls autograd's first operator by name, and Gelu has no such attribute.
COMPARE = """
import torch_aclnn, torch
import torch.nn.functional as F

torch.ones(1, device="npu", requires_grad=True).relu().backward()

def compare(approximate, expected):
    x, grad = torch.randn(100, requires_grad=True), torch.randn(100)
    leaf = x.detach().npu().requires_grad_()
    wanted, got = F.gelu(x, approximate=expected), F.gelu(leaf, approximate=approximate)
    torch.testing.assert_close(got.cpu(), wanted)
    torch.testing.assert_close(*(torch.autograd.grad(y, i, grad.to(y.device))[0].cpu() for y, i in ((got, leaf), (wanted, x))))
"""
SWITCH = "TORCH_NPU_USE_COMPATIBLE_IMPL"


def warnings_of(code, **environment):
    """Run the code and return the lines on standard error that speak of the switch."""
    done = run_python(COMPARE + code, **environment)
    assert done.returncode == 0, done.stderr[-4000:]
    return [line for line in done.stderr.splitlines() if SWITCH in line]


@pytest.mark.parametrize(("code", "environment"), [
    ("", {SWITCH: "1"}),
    ("import torch_npu; torch_npu.npu.use_compatible_impl(True)\n", {}),
], ids=["environment", "function"])  # fmt: skip
def test_the_switch_gives_both_forms_without_a_warning(code, environment):
    assert warnings_of(code + 'compare("tanh", "tanh"); compare("none", "none")', **environment) == []


def test_without_the_switch_one_warning_says_that_the_mode_is_lost():
    (warning,) = warnings_of('compare("tanh", "none"); compare("none", "none"); compare("tanh", "none")')
    assert warning.startswith("torch_aclnn: aclnnGelu: torch_npu does not pass gelu's `approximate`") and "erf" in warning


CLIENT = """
import ctypes, sys, torch
acl, opapi, math = (ctypes.CDLL(f"{libdir}/{name}.so") for name in ("libascendcl", "libopapi", "libaclnn_math"))
data = ctypes.c_void_p()
assert acl.aclInit(None) == acl.aclrtSetDevice(0) == acl.aclrtMalloc(ctypes.byref(data), ctypes.c_size_t(16), 0) == 0
opapi.aclCreateTensor.restype = ctypes.c_void_p
sizes, one = (ctypes.c_int64 * 1)(4), ctypes.c_uint64(1)
x = ctypes.c_void_p(opapi.aclCreateTensor(sizes, one, 0, None, ctypes.c_int64(0), 2, sizes, one, data))
size, executor = ctypes.c_uint64(), ctypes.c_void_p()
assert math.aclnnGeluGetWorkspaceSize(x, x, ctypes.byref(size), ctypes.byref(executor)) == 0
assert "torch_npu" not in sys.modules
"""


def test_a_program_without_torch_npu_means_the_erf_form():
    done = run_python(f'libdir = "{libdir()}"\n{CLIENT}', TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert done.returncode == 0 and SWITCH not in done.stderr, done.stderr
