"""What forked processes can do, as JSON; their parent has used npu, and several threads on the CPU."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable

import torch_aclnn  # noqa: F401
import torch

LIMIT = 120  # seconds for a child


def say_of(child: Callable[[], object]) -> object:
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        signal.alarm(LIMIT)
        try:
            said: object = child()
        except RuntimeError as error:
            said = str(error)
        os.write(writing, json.dumps(said).encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(process, 0)
    with open(reading, "rb") as pipe:
        return json.loads(pipe.read() or b'"nothing: it waited for ever"')


def sum_on_cpu() -> float:
    torch.set_num_threads(1)
    return (torch.ones(600, 600) @ torch.ones(600, 600)).sum().item()


def new_tensor() -> float:
    return torch.ones(3, device="npu").sum().item()


def old_tensor() -> float:
    return x.add_(1).sum().item()


def another_program() -> str:
    code = "import torch_aclnn, torch; print(torch.ones(3, device='npu').sum().item())"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


before = say_of(new_tensor)
x = torch.ones(300, 300, device="npu")
for _ in range(20):
    x = x @ x
torch.ones(600, 600) @ torch.ones(600, 600)
print(json.dumps({"before": before} | {child.__name__: say_of(child) for child in (sum_on_cpu, new_tensor, old_tensor, another_program)}))
