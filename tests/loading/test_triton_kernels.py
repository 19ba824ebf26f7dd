"""What a dry run makes of Triton's kernels. The modules here have what programs and loading/triton_kernels.py use of Triton's."""

import os
import sys
from pathlib import Path

import pytest

from support.marks import host_engine_only
from support.subprocesses import run_python

pytestmark = host_engine_only

RUNTIME = """
class JITFunction:
    def __init__(self, fn, src):
        self.fn, self.src, self.arg_names = fn, src, list(fn.__annotations__)
class Autotuner:
    def __init__(self, fn, arg_names, configs, key):
        assert set(key) <= set(arg_names)
class Config:
    def __init__(self, kwargs): ...
    def all_kwargs(self):
        return {"size": 8}
class driver:
    active = None
    @classmethod
    def set_active(cls, active):
        cls.active = active
"""
PROGRAM = """
import torch, torch_npu
from triton.runtime import Autotuner, Config, JITFunction, driver
import triton.language.extra.cann.extension as extension

def kernel(x: 0, out: 0, other: 0, n: 0, size: 0): ...
source = '''
    def kernel(x, out, other, n, size):
        place = out + tl.arange(0, size)
        tl.store(place, tl.load(x) + extension.any(n))
        helper(other, n)
'''
function = JITFunction(kernel, source)
scale = Autotuner(function, function.arg_names, [Config({}, multibuffer=True)], ["BT"])
x, out, other = (torch.full((4,), 3, device="npu") for _ in range(3))
print(x.tolist(), out.tolist(), other.tolist())
scale.run(x, out, other=other, n=4, grid=(1,), warmup=True)
print(out.tolist())
scale.run(x, out, other=other, n=4, grid=(1,))
print(x.tolist(), out.tolist(), other.tolist())
print(driver.active.get_current_target().backend, driver.active.utils.get_device_properties(0)["num_vectorcore"] > 0)
"""


@pytest.fixture
def modules(tmp_path: Path) -> str:
    for folder in ("triton", "triton/runtime", "triton/language", "triton/language/extra"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").write_text(RUNTIME if folder == "triton/runtime" else "")
    return os.pathsep.join([str(tmp_path), *filter(None, sys.path)])


def test_what_a_kernel_writes_is_unknown(modules):
    """Unknown numbers are read as 0. A warm-up only compiles; the kernel stores to one tensor, and a function of its own gets another."""
    done = run_python(PROGRAM, PYTHONPATH=modules, TORCH_ACLNN_HOST_COMPUTE="0")
    known, unknown = [3] * 4, [0] * 4
    assert done.stdout.splitlines()[-4:] == [f"{known} {known} {known}", f"{known}", f"{known} {unknown} {unknown}", "npu True"]
