"""What tells the ranks of a job apart."""

import gc
import hashlib
import os
import sys
from pathlib import Path
from typing import Any

from torch import distributed
from torch_aclnn.host import counts
from torch_aclnn.observation import device

_MEGATRON, _TORCH = "megatron.core.parallel_state", "torch.distributed.pipelining.stage"


def variable(name: str) -> int | None:
    """Return an environment variable as a number."""
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() else None


def pipeline_stage() -> int | None:
    """Return the first stage that this rank has of a pipeline of Megatron or torch, or None."""
    if (megatron := _megatron()) is not None:
        return int(megatron.get_pipeline_model_parallel_rank())
    return min((int(stage.stage_index) for stage in _stages_of_torch()), default=None)


def pipeline_ranks() -> list[int]:
    """Return the ranks of this rank's pipeline of Megatron or torch, in the order of their stages."""
    if (megatron := _megatron()) is not None:
        group = megatron.get_pipeline_model_parallel_group()
        # MindSpeed has a list of groups where the first stages run on other machines.
        return distributed.get_process_group_ranks(group[0] if isinstance(group, list) else group)
    return next((distributed.get_process_group_ranks(stage.group or distributed.group.WORLD) for stage in _stages_of_torch()), [])


def _megatron() -> Any:
    state: Any = sys.modules.get(_MEGATRON)
    return state if state is not None and state.model_parallel_is_initialized() else None


def _stages_of_torch() -> list[Any]:
    pipelines: Any = sys.modules.get(_TORCH)
    return [] if pipelines is None else [one for one in gc.get_objects() if issubclass(type(one), pipelines._PipelineStageBase)]


class EqualRanks:
    """Compares this rank, when its first backward begins, with those that have been run before.

    Args:
        folder: where each rank that was run leaves a file; None if no rank is compared.

    """

    def __init__(self, folder: str | None) -> None:
        self._folder = None if folder is None else Path(folder)
        self._own: Path | None = None
        self._begin = counts.since_start()  # counts in a fork begin with those of the process before the fork

    def earlier(self) -> int | None:
        """Return the rank that has made the same allocations, launches and collectives, or None; a second call returns None."""
        if self._folder is None or self._own is not None:
            return None
        self._own = self._folder / _fingerprint(counts.since_start() - self._begin)
        return int(self._own.read_text()) if self._own.exists() else None

    def keep(self) -> None:
        """Keep this rank, which has been run, for comparisons with later ones."""
        if self._own is not None:
            self._own.write_text(os.environ["RANK"])


def _fingerprint(ran: counts.Statistics) -> str:
    allocations = [(event["action"], event.get("size", 0)) for event in device.trace()]
    collectives = sorted((one.name, one.ranks, one.calls, one.bytes) for one in ran.collectives)
    return hashlib.sha256(repr((allocations, sorted(ran.calls.items()), collectives)).encode()).hexdigest()
