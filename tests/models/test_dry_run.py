"""A dry run (TORCH_ACLNN_HOST_COMPUTE=0) allocates and calls what the run that computes does."""

import json
from pathlib import Path

from support.marks import beyond_the_documents
from support.subprocesses import host_mode, output_of
from support.traces import read_trace

TESTS = Path(__file__).resolve().parent.parent
# A dry run has the values of masks and counts, which are small, and not those of nearly all weights and activations.
DRY = {"TORCH_ACLNN_HOST_COMPUTE": "0", "TORCH_ACLNN_HOST_KNOWN": "256"}

# Each network with AMP, checkpoints, gradients of two parts of a batch, clipping and a scaler; prints what the allocator has done.
TRAIN_EACH = f"""
import sys; sys.path += [{str(TESTS)!r}, {str(TESTS.parent)!r}]
import torch_aclnn, torch, json
from torch.utils.checkpoint import checkpoint
from support.training import RECIPES, batch
torch.npu.memory._record_memory_history(context=None)
for name, recipe in RECIPES.items():
    torch.manual_seed(0)
    torch.npu.reset_peak_memory_stats()
    model, scaler = recipe.model().npu(), torch.amp.GradScaler("npu")
    optimizer = recipe.optimizer(model.parameters())
    samples = torch.utils.data.TensorDataset(*batch(name, 8))
    inputs = torch.utils.data.DataLoader(samples, 4, pin_memory=True, num_workers=int(name == 'lenet'))
    for _ in range(2):
        for x, y in inputs:
            with torch.autocast("npu", torch.bfloat16):
                x, y = x.to("npu", non_blocking=True), y.to("npu", non_blocking=True)
                loss = recipe.loss(checkpoint(model, x, use_reentrant=False).float(), y) / 2
            scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    print(json.dumps([name, torch.npu.max_memory_allocated(), torch.npu.max_memory_reserved(), torch.npu.get_rng_state().sum().item()]))
    del model, optimizer, scaler, x, y, loss, inputs
    torch.npu.synchronize()
print(json.dumps(torch_aclnn.host.statistics().calls))
[events] = torch.npu.memory._snapshot()["device_traces"]
print(json.dumps([[event["action"], event["size"]] for event in events]))
print(json.dumps(torch_aclnn.host.is_dry_run()), torch_aclnn.host.statistics().value_reads != ())
"""


def trained(trace: Path, **environment: str) -> tuple[list[str], list[object]]:
    """Return what a run prints, and its calls with shapes, data types and numbers."""
    printed = output_of(TRAIN_EACH, TORCH_ACLNN_HOST_TRACE=str(trace), TASK_QUEUE_ENABLE="0", **environment).splitlines()
    lines = [line for line in read_trace(trace) if line["kind"] == "call" and line.get("phase") == 1]
    return printed, [(line["name"], line["arguments"]) for line in lines]


def points(events: list[tuple[str, int]]) -> list[tuple[int, int]]:
    """Return of each allocation its size and what was allocated before: what is freed at once may be freed in any order."""
    found, allocated = [], 0
    for action, size in events:
        if action == "alloc":
            found.append((size, allocated))
        allocated += {"alloc": size, "free_completed": -size}.get(action, 0)
    return found


@beyond_the_documents
def test_six_networks_allocate_and_call_what_they_do_when_they_compute(tmp_path):
    (computed, calls), (dry, dry_calls) = trained(tmp_path / "computed", **host_mode("npu_workspace")), trained(tmp_path / "dry", **DRY)
    assert computed[-1] == "false False" and dry[-1] == "true True"
    assert points(json.loads(dry[-2])) == points(json.loads(computed[-2]))
    assert dry[:-2] == computed[:-2]
    assert dry_calls == calls
