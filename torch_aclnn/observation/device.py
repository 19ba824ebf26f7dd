"""The calls of torch_npu and of the engine that the observer makes."""

import ctypes
from collections.abc import Callable
from typing import Any

import torch_npu
from torch_aclnn.host import registry

_POLICY = 0  # ACL_MEM_MALLOC_HUGE_FIRST


class Allocations:
    """Counts all allocations of the current device, and keeps their peak when the program resets torch's statistics."""

    def __init__(self) -> None:
        self._before = 0
        self._latest = 0
        self._peak = 0
        self._reset_peak = torch_npu._C._npu_resetPeakMemoryStats
        torch_npu._C._npu_resetPeakMemoryStats = self._peak_is_reset

    def count(self) -> int:
        """Return how many allocations there have been."""
        counted: int = stats()["allocation"]["all"]["allocated"]
        if counted < self._latest:
            self._before += self._latest
        self._latest = counted
        return self._before + counted

    def peak(self) -> int:
        """Return the most bytes that were allocated at once, by the sizes of the allocator's blocks."""
        return max(self._peak, stats()["allocated_bytes"]["all"]["peak"])

    def _peak_is_reset(self, number: int) -> None:
        self._peak = self.peak()
        self._reset_peak(number)


def stats() -> dict[str, Any]:
    """Return the allocator's statistics."""
    return torch_npu._C._npu_memoryStats(torch_npu._C._npu_getDevice())


def when_initialized(action: Callable[[], None]) -> None:
    """Call the action once the device is initialised, which may be now."""
    torch_npu.npu._lazy_call(action)


def record_history() -> None:
    """Make the allocator keep its history, with a Python stack for each allocation."""
    torch_npu.npu.memory._record_memory_history(context="alloc", stacks="python")


def trace() -> list[dict[str, Any]]:
    """Return the history of the current device."""
    traces: list[list[dict[str, Any]]] = torch_npu.npu.memory._snapshot()["device_traces"]
    return traces[torch_npu.npu.current_device()]


def on_failed_allocation(action: Callable[[int, int, int, int], None]) -> None:
    """When an allocation fails, call the action with the device, the size, the device's memory and how much of it is free."""
    torch_npu._C._npu_attach_out_of_memory_observer(action)


def take(size: int) -> bool:
    """Take memory of the current device from the program, and return whether there was so much."""
    address = ctypes.c_void_p()
    malloc = registry.host_runtime().aclrtMalloc
    malloc.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t, ctypes.c_int]
    return size == 0 or malloc(ctypes.byref(address), size, _POLICY) == 0


def synchronize() -> bool:
    """Wait for the device; return whether all has gone well."""
    try:
        torch_npu.npu.synchronize()
    except RuntimeError:
        return False
    return True
