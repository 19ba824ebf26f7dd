"""Categories of memory: parameters, gradients and optimizer state by their tensors, the rest by when it was allocated."""

import gc
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass
from torch_aclnn.observation.history import Block
from torch_aclnn.observation.lines import is_the_programs

PARAMETERS, GRADIENTS, STATE = "parameters and buffers", "gradients", "optimizer state"
ACTIVATIONS, RECOMPUTED = "activations and inputs", "activations, recomputed"
BACKWARD, OPTIMIZER, SHARDING = "backward's temporaries", "optimizer's temporaries", "sharding and communication"

_DISTRIBUTED = ("/torch/distributed/", "/torch/nn/parallel/", "/deepspeed/")
_HOOKS = "/torch/nn/modules/module.py"  # the file that calls modules, and before them FSDP's gathering
_CHECKPOINT = "/torch/utils/checkpoint.py"


class Labels:
    """Categories of addresses, each with the number of allocations at which it was noted."""

    def __init__(self) -> None:
        self._labels: dict[int, list[tuple[int, str]]] = defaultdict(list)

    def add(self, category: str, tensors: Iterable[Any], position: int) -> None:
        """Label the memory of those tensors that are on the device with the category."""
        for tensor in tensors:
            for address in _addresses(tensor):
                self._labels[address].append((position, category))

    def of(self, block: Block) -> str | None:
        """Return the category of a block, or None."""
        return next((category for position, category in self._labels.get(block.address, ()) if block.is_alive(position)), None)


def label_before_step(labels: Labels, optimizer: torch.optim.Optimizer, position: int) -> None:
    """Label the tensors that an optimizer is about to use."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    labels.add(PARAMETERS, parameters, position)
    labels.add(GRADIENTS, (parameter.grad for parameter in parameters), position)


def label_after_step(labels: Labels, optimizer: torch.optim.Optimizer, position: int) -> None:
    """Label the tensors that an optimizer keeps."""
    labels.add(STATE, _tensors(optimizer.state), position)


def label_modules(labels: Labels, position: int) -> None:
    """Label the parameters and buffers of all modules of the process, also those that no optimizer has."""
    modules = [one for one in gc.get_objects() if issubclass(type(one), torch.nn.Module)]
    for module in modules:
        for tensors in (module.__dict__.get("_parameters"), module.__dict__.get("_buffers")):
            labels.add(PARAMETERS, (tensors or {}).values(), position)


def category_of(block: Block, labels: Labels, in_backward: bool, in_optimizer: bool) -> str:
    """Return the category of a block."""
    labelled = labels.of(block)
    if labelled is not None:
        return labelled
    files = [file for file, _ in block.places]
    if _is_sharding(files):
        return SHARDING
    if in_optimizer:
        return OPTIMIZER
    if in_backward:
        return RECOMPUTED if any(file.endswith(_CHECKPOINT) for file in files) else BACKWARD
    return ACTIVATIONS


def _is_sharding(files: Iterable[str]) -> bool:
    """Return whether code for several ranks allocated the block itself, and not a layer or the program that it called."""
    for file in files:
        if any(folder in file for folder in _DISTRIBUTED):
            return True
        if is_the_programs(file) or ("/torch/nn/" in file and not file.endswith(_HOOKS)):
            return False
    return False


def by_bytes(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return the sums, the largest first."""
    sums: Counter[str] = Counter()
    for name, size in pairs:
        sums[name] += size
    return dict(sums.most_common())


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for inner in list(value.values()):
            yield from _tensors(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _tensors(inner)


def _addresses(tensor: Any) -> Iterator[int]:
    if not isinstance(tensor, torch.Tensor):
        return
    if is_traceable_wrapper_subclass(tensor):  # a DTensor, for example, of which this process has a part
        names, _ = tensor.__tensor_flatten__()
        for name in names:
            yield from _addresses(getattr(tensor, name))
    elif tensor.device.type == "npu" and tensor.layout == torch.strided:
        yield tensor.untyped_storage().data_ptr()
