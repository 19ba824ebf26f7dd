"""The lines that the examples print about the engine that ran them."""

import torch_aclnn
import torch
from rich.console import Console
from rich.table import Table
from torch_aclnn._operators import OPERATORS

BACKWARDS = [operator.entry_point for operator in OPERATORS]


def print_engine(console: Console, device: str) -> None:
    """Print what computes: the host engine, CANN, or plain CPU kernels."""
    if device == "cpu":
        engine = "none (plain CPU tensors)"
    elif torch_aclnn.host.is_active():
        engine = f"torch_aclnn host engine (CPU) presenting {torch.npu.get_device_name()}"
    else:
        engine = f"CANN on {torch.npu.get_device_name()}"
    console.print(f"device {device}, engine: {engine}")


def print_calls(console: Console, device: str) -> None:
    """Print how often each entry point of the package's operators was called, and how often all others were."""
    if device == "cpu" or not torch_aclnn.host.is_active():
        return
    calls = torch_aclnn.host.statistics().calls
    table = Table("aclnn entry point", "calls")
    for name in BACKWARDS:
        if name in calls:
            table.add_row(name, str(calls[name]))
    others = {name: n for name, n in calls.items() if name not in BACKWARDS}
    table.add_row(f"{len(others)} others", str(sum(others.values())))
    console.print(table)
