"""Each literal message of docs/faq.md comes from a program: a heading of an error, or a row of a warning."""

import re
import sys
from pathlib import Path

import pytest

from support.marks import host_engine_only
from support.missing import environment_without
from support.subprocesses import run_python

FAQ = (Path(__file__).parents[2] / "docs" / "faq.md").read_text()
pytestmark = host_engine_only

# The begin of a program that prints what its calls raise, and goes on.
PROGRAM = """
import sys, traceback, torch
from torch import nn

def attempt(call):
    try:
        call()
        torch.npu.synchronize()
    except Exception:
        print(traceback.format_exc(), file=sys.stderr, flush=True)
"""

# Programs, each run in a process of its own, with the errors that it prints and its environment.
ERRORS = {
    "import torch": (("Failed to load the backend extension: torch_npu",), {"TORCH_ACLNN_IMPORT_HOOK": "0"}),
    PROGRAM
    + """
import torch_npu
x = torch.randn(1, 3, 8, 8, device="npu")
half = {"device": "npu", "dtype": torch.float16}
attempt(lambda: torch_npu.npu_ffn(torch.ones(4, 8, **half), torch.ones(8, 16, **half), torch.ones(16, 8, **half), "gelu"))
attempt(lambda: torch_npu.npu_nms_with_mask(torch.rand(3, 5, device="npu"), 0.5))
attempt(lambda: x.to(memory_format=torch.channels_last))
attempt(lambda: nn.MaxUnpool2d(2)(*nn.MaxPool2d(2, return_indices=True)(x)))
attempt(lambda: nn.functional.avg_pool2d(x.cpu().double().npu(), 2))
attempt(lambda: torch.empty(100 << 20, device="npu"))
attempt(lambda: torch.compile(lambda x: x * 2)(x))
leaf = x[..., :2].clone().requires_grad_()
(grad,) = torch.autograd.grad(nn.BatchNorm2d(3).npu()(leaf).pow(3).sum(), leaf, create_graph=True)
attempt(lambda: torch.func.jvp(lambda t: nn.functional.softmax(t, 1), (x,), (x,)))
attempt(lambda: torch.hann_window(9, device="npu"))
attempt(lambda: x @ x.cpu())
sys.stdout = sys.stderr
sys.excepthook(ValueError, ValueError("not of torch_npu"), None)
attempt(lambda: x.cuda())
scaler, layer = torch_npu.npu.amp.GradScaler(), nn.Linear(2, 1).npu()
optimizer = torch.optim.AdamW(layer.parameters(), fused=True)
scaler.scale(layer(torch.ones(1, 2, device="npu")).sum()).backward()
attempt(lambda: scaler.step(optimizer))
""": (
        (
            "aclnn... or aclnn...GetWorkspaceSize not in libopapi.so, or libopapi.so not found.",
            "operator NMSWithMask has no entry point in the torch_aclnn host engine",
            "Only contiguous_format or preserve_format is supported.",
            "aclnnMaxUnpool2d: indices: expected a data type of INT32, INT64 ... got INT8",
            "expected a data type of FLOAT, FLOAT16, BF16 ... got DOUBLE",
            "NPU out of memory. Tried to allocate",
            "inductor, torch.compile's default backend, has no compiler for npu",
            "torch_npu's gradient of batch norm has wrong derivatives",
            "Cannot access storage of TensorWrapper",
            "result type Float can't be cast to the desired output type Long",
            "Expected all tensors to be on the same device",
            "Torch not compiled with CUDA enabled",
            "ERR99999 UNKNOWN applicaiton exception",
            "Adam.step() got an unexpected keyword argument 'grad_scaler'",
        ),
        {"TORCH_ACLNN_HOST_MEMORY": "128M"},
    ),
    PROGRAM
    + """
import multiprocessing
x = torch.ones(1, device="npu")
child = multiprocessing.get_context("fork").Process(target=lambda: torch.ones(1, device="npu"))
child.start()
child.join()
""": (("Cannot re-initialize NPU in forked subprocess.",), {}),
    '''
import io, subprocess, sys, torch
file = io.BytesIO()
torch.save(torch.ones(1, device="npu"), file)
command = """import io, sys, torch
try:
    torch.ones(1, device="npu")
except RuntimeError as error:
    print(error, file=sys.stderr)
torch.load(io.BytesIO(sys.stdin.buffer.read()))"""
subprocess.run([sys.executable, "-c", command], input=file.getvalue(), env={"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"})
''': (
        (
            "Expected one of cpu, cuda, ipu, ... device type at start of device string: npu",
            "don't know how to restore data location of torch.storage.UntypedStorage (tagged with npu:0)",
        ),
        {},
    ),
}
WARNINGS = (
    PROGRAM
    + """
model = nn.Linear(2, 1).npu()
scaler, optimizer = torch.amp.GradScaler("npu"), torch.optim.SGD(model.parameters())
scaler.scale(model(torch.ones(1, 2, device="npu")).sum()).backward()
scaler.step(optimizer)
torch.ones(1, device="npu").double()
nn.functional.gelu(torch.ones(1, device="npu"), approximate="tanh")
torch.linalg.eigh(torch.eye(2, device="npu"))
attempt(lambda: torch.compile(lambda x: x * 2)(torch.ones(1, device="npu")))
"""
)


def pattern(message: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, message.split("..."))), re.DOTALL)


def section(title: str) -> str:
    return FAQ.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_each_heading_of_an_error_has_a_program():
    produced = [message for messages, _ in ERRORS.values() for message in messages]
    assert sorted(re.findall("^### (.*)$", section("Errors"), re.MULTILINE)) == sorted(produced)


@pytest.mark.parametrize(("program", "messages", "environment"), [(code, *given) for code, given in ERRORS.items()], ids=range(len(ERRORS)))
def test_the_errors_are_printed_as_the_faq_has_them(program, messages, environment, tmp_path):
    said = run_python(program, **environment, **environment_without("aclnnFFNV2", tmp_path)).stderr
    assert [message for message in messages if not pattern(message).search(said)] == [], said[-3000:]


def test_the_warnings_are_printed_as_the_faq_has_them():
    rows = re.findall(r"^\| (.*?) \|", section("Warnings"), re.MULTILINE)[1:]
    said = run_python(WARNINGS, launcher=(sys.executable, "-W", "always", "-c")).stderr
    assert len(rows) == 7 and [message for message in rows if message not in said] == [], said[-3000:]
