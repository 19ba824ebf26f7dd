"""Calls a function, given as "module:name", as one of several ranks, and writes the outcome into a file."""

import datetime
import faulthandler
import importlib
import os
import pickle
import sys
import traceback
from pathlib import Path

url, function, backend, seconds = sys.argv[1:]
faulthandler.dump_traceback_later(0.9 * float(seconds))  # the outcome on standard error, if nothing else is written
sys.path.append(str(Path(__file__).parents[2]))
os.environ["TORCH_DIST_INIT_BARRIER"] = "1"  # a process that finishes early must not leave before the others are connected

import torch_aclnn  # noqa: E402, F401
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

from support.rank_calls import Outcome  # noqa: E402

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
if "hccl" in backend:
    torch.npu.set_device(rank)
module, name = function.split(":")
try:
    dist.init_process_group(backend, url, rank=rank, world_size=size, timeout=datetime.timedelta(seconds=float(seconds)))
    arguments = pickle.loads(Path("arguments").read_bytes())
    outcome = Outcome(getattr(importlib.import_module(module), name)(*arguments))
    if backend == "gloo":
        # With torch 2.7 a thread of gloo may need the GIL, to drop a tensor of the last collective, while destruction waits for it.
        dist.barrier()
    dist.destroy_process_group()
except Exception:
    outcome = Outcome(failure=traceback.format_exc())
part = Path(f"part{rank}")
part.write_bytes(pickle.dumps(outcome))
part.rename(f"result{rank}")
