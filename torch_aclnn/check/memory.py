"""How much memory is kept: between forward and backward, and by calls that the task queue has not run yet."""

import gc
from collections.abc import Callable

import torch
import torch_npu
from torch import Tensor
from torch.autograd.graph import get_gradient_edge
from torch_aclnn.check.families import SPECIFICATIONS
from torch_aclnn.check.pairs import Call, operator_calls
from torch_aclnn.check.records import FAILED, PASSED, Check

CALLS = 2000

# The queue keeps the tensors of calls that it has not run yet, those of torch_npu's own too.
_SLACK = 16

# torch_npu's allocator hands out blocks of this size.
_BLOCK = 512


def kept_bytes(name: str, mode: int) -> Check:
    """Compare what the graph of one layer keeps between forward and backward; ours must not keep more."""
    specification = SPECIFICATIONS[name]
    input = torch.ones(specification.layer_shape).to("npu").requires_grad_()
    ours, torchs = (_kept(layer, input) for layer in specification.layers(input))
    message = f"keeps {ours:,} bytes where torch's own keeps {torchs:,}" if ours > torchs + _BLOCK else None
    return Check("memory", name, FAILED if message else PASSED, mode, "float32", bytes=(ours, torchs), message=message)


def _kept(layer: Callable[[Tensor], Tensor], input: Tensor) -> int:
    """Return the bytes kept. The layer's input is a product with a number, so it is freed here unless the layer saves it."""
    layer(input * 1.0)  # a first call may allocate memory that is kept
    before = _allocated()
    edge = get_gradient_edge(layer(input * 1.0))
    kept = _allocated() - before
    del edge
    return kept


def _allocated() -> int:
    torch_npu.npu.synchronize()  # the task queue holds the tensors of calls that it has not run yet
    return torch_npu.npu.memory_allocated()


def check_queued(name: str, mode: int) -> Check:
    """Call the operator and torch_npu's own many times without waiting, and compare the largest number of blocks in use.

    A call that holds its workspace until the queue has run it keeps a block for each call that waits.
    """
    ours, torchs = operator_calls(name)
    blocks, size = _peak(ours)
    torchs_blocks, torchs_size = _peak(torchs) if torchs else (0, 0)
    keeps_more = blocks > 2 * torchs_blocks + _SLACK
    message = f"{CALLS} calls keep up to {blocks} blocks where torch_npu's own keep {torchs_blocks}" if keeps_more else None
    status = FAILED if keeps_more else PASSED
    return Check("queued", name, status, mode, "float32", bytes=(size, torchs_size), blocks=(blocks, torchs_blocks), message=message)


def _peak(call: Call) -> tuple[int, int]:
    """Return the blocks and bytes that are allocated at most while the calls are made, beyond those from before."""
    call()
    gc.collect()  # tensors in reference cycles could be freed during the calls, and would hide some of what these allocate
    torch_npu.npu.synchronize()
    before = torch_npu.npu.memory_stats()
    torch_npu.npu.reset_peak_memory_stats()
    for _ in range(CALLS):
        call()
    after = torch_npu.npu.memory_stats()
    torch_npu.npu.synchronize()
    names = ("allocation.all", "allocated_bytes.all")
    blocks, size = (after[f"{name}.peak"] - before[f"{name}.current"] for name in names)
    return blocks, size
