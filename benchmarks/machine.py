"""A description of the machine: figures are comparable on one machine only."""

import os
import platform
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import torch_aclnn
import torch
import torch_npu


def describe() -> dict[str, Any]:
    """Return processor, threads, versions and date."""
    isa = getattr(torch_aclnn._C, "isa", None)
    return {
        "cpu": cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "threads": torch.get_num_threads(),
        "instruction_set": isa() if isa else None,
        "aten_instruction_set": torch.backends.cpu.get_cpu_capability(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "torch_npu": torch_npu.__version__,
        "torch_aclnn": torch_aclnn.__version__,
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }


def cpu_model() -> str:
    """Return the processor's name, as Linux knows it."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


# A measurement is doubtful if other programs took this part of the processors' time, or more.
DOUBTFUL_SHARE = 0.05
# Linux counts processor time in ticks, of which a short measurement may count some too many or too few.
_MISCOUNTED_TICKS = 2


class OtherPrograms:
    """The processor time that other programs took since this object was made; too much of it makes figures doubtful."""

    def __init__(self) -> None:
        self._wall, self._busy = time.monotonic(), _busy_seconds()

    def share(self) -> float:
        """Return the part of all processors' time that others took, from 0 to 1."""
        available = (time.monotonic() - self._wall) * (os.cpu_count() or 1)
        busy = _busy_seconds() - self._busy - _MISCOUNTED_TICKS / os.sysconf("SC_CLK_TCK")
        return min(1.0, max(0.0, busy / available))


def _busy_seconds() -> float:
    """Return the seconds that processors worked for others than this process and its children, or were taken by the hypervisor."""
    user, nice, system, _, _, irq, softirq, steal = map(int, Path("/proc/stat").read_text().split(maxsplit=9)[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK") - sum(os.times()[:4])


def summary(machine: dict[str, Any]) -> str:
    """Return the machine in one line."""
    threads = f"{machine['threads']} thread{'s' if machine['threads'] != 1 else ''}"
    return f"{machine['cpu']}, {machine['cores']} cores, {threads}, torch {machine['torch']}"
