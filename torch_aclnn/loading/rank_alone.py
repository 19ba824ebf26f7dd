"""One process as one rank of a job whose other ranks are not there: ``TORCH_ACLNN_HOST_RANK_ALONE=1``.

Each of them is taken to hold what this one holds. The engine answers for them in ``libhccl.so``; here is what torch itself asks of them:
the store in which ranks meet, groups of tensors on the CPU, and collectives of objects.
"""

import ctypes
import functools
import inspect
import os
import sys
from collections.abc import Callable, Mapping, MutableMapping
from types import ModuleType
from typing import Any

from torch_aclnn.loading.engine import COLLECTIVES
from torch_aclnn.loading.paths import libdir

VARIABLE = "TORCH_ACLNN_HOST_RANK_ALONE"

_RANKS_OF_A_MACHINE = 8


def is_alone(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether this process is a rank alone. The engine refuses values of the variable other than 0 and 1."""
    return environment.get(VARIABLE) == "1"


def variables(rank: int, size: int, local_size: int = _RANKS_OF_A_MACHINE) -> dict[str, str]:
    """Return the environment variables that ``torchrun`` sets for a rank.

    Args:
        rank: the rank's number.
        size: how many there are.
        local_size: how many ranks a machine has.

    Raises:
        ValueError: there is no such rank.

    """
    if not 0 <= rank < size:
        raise ValueError(f"RANK: expected a number in 0..{size - 1}, because WORLD_SIZE is {size}, got {rank}")
    local_size = min(local_size, size)
    machine, local_rank = divmod(rank, local_size)
    names = {"RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": local_rank, "LOCAL_WORLD_SIZE": local_size, "GROUP_RANK": machine}
    meeting = {"GROUP_WORLD_SIZE": -(-size // local_size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": 29500}
    return {name: str(value) for name, value in {**names, **meeting}.items()}


def complete(environment: MutableMapping[str, str]) -> None:
    """Add the other variables that ``torchrun`` sets to an environment that has RANK and WORLD_SIZE.

    Raises:
        ValueError: there is no such rank.

    """
    if "RANK" in environment and "WORLD_SIZE" in environment:
        number = functools.partial(_number, environment)
        least = number("LOCAL_RANK", -1) + 1
        local_size = number("LOCAL_WORLD_SIZE", max(_RANKS_OF_A_MACHINE, least))
        for name, value in variables(number("RANK"), number("WORLD_SIZE"), local_size).items():
            environment.setdefault(name, value)


def _number(environment: Mapping[str, str], name: str, otherwise: int = 0) -> int:
    value = environment.get(name, str(otherwise))
    try:
        return int(value)
    except ValueError:
        raise ValueError(f"{name}: expected a number, got {value!r}") from None


def answer_for_others() -> None:
    """Make torch, which has been imported, take the engine's answers in place of other ranks'."""
    answers = _answers()
    c10d = sys.modules["torch.distributed.distributed_c10d"]
    changes: dict[str, Callable[[_Arguments], None]] = {
        "broadcast_object_list": _broadcast_object_list,
        "gather": _gather,
        "gather_object": _gather_object,
        "scatter_object_list": _scatter_object_list,
        "recv_object_list": _recv_object_list,
    }
    _replace(c10d, "ProcessGroupGloo", answers.ProcessGroup)
    for name, change in changes.items():
        function = getattr(c10d, name)
        _replace(c10d, name, functools.wraps(function)(functools.partial(_change, function, change)))
    rendezvous = sys.modules["torch.distributed.rendezvous"]
    _replace(rendezvous, "_create_c10d_store", lambda hostname, port, rank, world_size, *_, **__: answers.store(world_size))
    _replace(rendezvous, "FileStore", lambda path, world_size: answers.store(world_size))


def _vote_alone(pipelines: Any) -> None:
    """Let each stage of a pipeline take its own vote on whether shapes are known for the vote of all."""
    stage = pipelines.PipelineStage
    if not hasattr(stage, "_warmup_forward_vote"):
        return
    vote, outcome = stage._warmup_forward_vote, stage._warmup_backward_result

    def own_vote(self: Any, has_backward: bool, *args: Any, **kwargs: Any) -> Any:
        self.vote_alone = int(not pipelines.InferenceMode.needs_dynamic(self._user_meta, has_backward))
        return vote(self, has_backward, *args, **kwargs).fill_(self.vote_alone)

    stage._warmup_forward_vote = own_vote
    stage._warmup_backward_result = lambda self, *args, **kwargs: outcome(self, *args, **kwargs).fill_(self.vote_alone)


CHANGES = {"torch.distributed.pipelining.stage": _vote_alone}


def _replace(owner: ModuleType, name: str, value: object) -> None:
    """Replace a name of the module, also where torch and torch_npu have imported it by name."""
    original = getattr(owner, name)
    for module_name, module in list(sys.modules.items()):
        if module_name.split(".")[0] in ("torch", "torch_npu") and vars(module).get(name) is original:
            setattr(module, name, value)


def _answers() -> Any:
    """Return the functions that the engine's library has for torch."""
    module = ModuleType(f"{__name__}.answers")
    define = ctypes.PyDLL(str(libdir() / COLLECTIVES)).torchAclnnHostDefineRankAlone
    define.argtypes, define.restype = [ctypes.py_object], ctypes.py_object
    define(module)
    return module


_Arguments = dict[str, Any]


def _change(function: Callable[..., Any], change: Callable[[_Arguments], None], *args: Any, **kwargs: Any) -> Any:
    """Call the function with changed arguments, unless the group is one that this rank is not in."""
    arguments = inspect.signature(function).bind(*args, **kwargs)
    arguments.apply_defaults()
    c10d = sys.modules["torch.distributed.distributed_c10d"]
    if not c10d._rank_not_in_group(arguments.arguments["group"]):
        change(arguments.arguments)
    return function(*arguments.args, **arguments.kwargs)


def _ranks(arguments: _Arguments) -> int:
    size: int = sys.modules["torch.distributed"].get_world_size(arguments["group"])
    return size


def _this_rank() -> int:
    rank: int = sys.modules["torch.distributed"].get_rank()
    return rank


def _is_root(arguments: _Arguments, role: str) -> bool:
    distributed = sys.modules["torch.distributed"]
    of_group = arguments.get(f"group_{role}")
    if of_group is not None:
        return bool(distributed.get_rank(arguments["group"]) == of_group)
    return (arguments[role] or 0) == _this_rank()


def _make_root(arguments: _Arguments, role: str) -> None:
    arguments[role] = _this_rank()
    if f"group_{role}" in arguments:
        arguments[f"group_{role}"] = None


# The root's objects are taken to be those that this rank has.
def _broadcast_object_list(arguments: _Arguments) -> None:
    _make_root(arguments, "src")


# If this rank is the root, it needs tensors to gather into; each rank's tensor has the same shape.
def _gather(arguments: _Arguments) -> None:
    if not _is_root(arguments, "dst"):
        arguments["gather_list"] = [arguments["tensor"].new_empty(arguments["tensor"].shape) for _ in range(_ranks(arguments))]
        _make_root(arguments, "dst")


def _gather_object(arguments: _Arguments) -> None:
    if not _is_root(arguments, "dst"):
        arguments["object_gather_list"] = [None] * _ranks(arguments)
        _make_root(arguments, "dst")


def _scatter_object_list(arguments: _Arguments) -> None:
    if not _is_root(arguments, "src"):
        raise RuntimeError(f"{VARIABLE}: scatter_object_list: expected this rank as src, because no other is there to have objects for it")


def _recv_object_list(_: _Arguments) -> None:
    raise RuntimeError(
        f"{VARIABLE}: recv_object_list: no other rank is there to send objects; a PipelineStage does without if it gets input_args and "
        "output_args, so that its shapes are known"
    )
