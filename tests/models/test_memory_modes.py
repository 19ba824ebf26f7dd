"""Training with isolated memory, and what torch says when there is not enough of it."""

import re
import signal

import pytest

from support.subprocesses import host_mode, output_of, run_python

ISOLATED, SHARED = host_mode("isolate"), host_mode(without=("isolate",))
TRAIN = """
import torch, torch_npu
model = torch.nn.Sequential(
    torch.nn.Conv2d(1, 4, 3, padding=1), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.AvgPool2d(2), torch.nn.Flatten(),
    torch.nn.Linear(64, 3),
).npu()
optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
x, y = torch.randn(8, 1, 8, 8).npu(), torch.arange(8).remainder(3).npu()
def step():
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()
first = step()
"""
TOUCH = {
    "ctypes": "ctypes.string_at(x.data_ptr(), 4)",
    "numpy": "np.ctypeslib.as_array((ctypes.c_float * 4).from_address(x.data_ptr())).sum()",
}


@pytest.mark.parametrize("touch", TOUCH)
def test_reading_a_tensors_address_ends_the_process_with_a_report(touch):
    code = f"""
import ctypes, torch, torch_aclnn
import numpy as np
def look(x):
    {TOUCH[touch]}
x = torch.ones(4, device="npu")
torch.npu.synchronize()
look(x)
"""
    ended = run_python(code, **ISOLATED)
    assert ended.returncode == -signal.SIGSEGV
    assert "host code" in ended.stderr and "bytes on device 0" in ended.stderr
    assert re.search(r'the access came from\n(.*\n)* *File "<string>", line \d+ in look\n', ended.stderr)


def test_a_tensor_that_is_gone_is_named_as_freed_without_the_cache():
    code = """
import ctypes, torch, torch_aclnn
address = torch.ones(4, device="npu").data_ptr()
torch.npu.synchronize()
ctypes.string_at(address, 4)
"""
    ended = run_python(code, PYTORCH_NO_NPU_MEMORY_CACHING="1", **ISOLATED)
    assert ended.returncode == -signal.SIGSEGV
    assert "is at offset 0 of memory that was freed" in ended.stderr


@pytest.mark.parametrize("settings", [{}, {"PYTORCH_NPU_ALLOC_CONF": "expandable_segments:True"}, host_mode("isolate", "async")], ids=str)
def test_training_goes_on_as_without_isolation(settings):
    code = "import torch, torch_aclnn; torch.manual_seed(0)\n" + TRAIN + "print([step() for _ in range(5)])"
    assert output_of(code, **ISOLATED | settings) == output_of(code, **SHARED)


@pytest.mark.parametrize("isolation", [SHARED, ISOLATED], ids=["shared", "isolated"])
@pytest.mark.parametrize("allocator", ["expandable_segments:False", "expandable_segments:True"])
def test_out_of_memory_is_torchs_error_and_training_goes_on(isolation, allocator):
    code = (
        TRAIN
        + """
kept = []
for attempt in range(4):
    try:
        while True:
            kept.append(torch.ones(1 << 20, device="npu"))
    except torch.OutOfMemoryError as error:
        assert "out of memory" in str(error), error
        print(len(kept))
    kept.clear()
    assert step() < first
try:
    torch.empty(1 << 40, device="npu")
except torch.OutOfMemoryError:
    print("too large")
assert step() < first
print("done")
"""
    )
    printed = output_of(code, TORCH_ACLNN_HOST_MEMORY="256M", PYTORCH_NPU_ALLOC_CONF=allocator, **isolation).splitlines()
    *counts, large, done = printed
    assert (large, done) == ("too large", "done")
    assert len(counts) == 4 and all(int(count) > 30 for count in counts), counts
