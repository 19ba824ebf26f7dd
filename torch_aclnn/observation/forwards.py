"""Calls of modules: the repeated blocks of a network, and the forwards of a program that only runs forward."""

import itertools
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn.modules import module as modules
from torch_aclnn.observation.categories import ACTIVATIONS, PARAMETERS, Labels, category_of
from torch_aclnn.observation.history import Block, History
from torch_aclnn.observation.report import Blocks, Serving

Span = tuple[int, int]


class Forwards:
    """Notes which allocations the calls of modules make.

    Args:
        position: returns how many allocations there have been.
        labels: receives the parameters of the modules, which the program may release before it ends.

    """

    def __init__(self, position: Callable[[], int], labels: Labels) -> None:
        self._position, self._labels = position, labels
        self._outermost: torch.nn.Module | None = None
        self._begun = self._of_block = 0
        self._known: set[int] = set()
        self._blocks: dict[int, str] = {}
        self._inputs: Counter[str] = Counter()
        self.calls: list[tuple[int, int, str]] = []
        self.without_gradients: list[Span] = []
        modules.register_module_forward_pre_hook(self._before)
        modules.register_module_forward_hook(self._after, always_call=True)

    def _before(self, module: torch.nn.Module, arguments: Any) -> None:
        if torch.compiler.is_compiling() or torch._C._current_autograd_node() is not None:
            return
        if self._outermost is None:
            self._outermost, self._begun = module, self._position()
            if id(module) not in self._known:
                self._known.add(id(module))
                self._labels.add(
                    PARAMETERS, itertools.chain(torch.nn.Module.parameters(module), torch.nn.Module.buffers(module)), self._begun
                )
                self._blocks |= {id(block): type(block).__name__ for block in _repeated(module)}
        if name := self._blocks.get(id(module)):
            self._of_block = self._position()
            self._inputs[name] = max(self._inputs[name], *(one.nbytes for one in arguments if isinstance(one, torch.Tensor)), 0)

    def _after(self, module: torch.nn.Module, _: object, __: object) -> None:
        if torch.compiler.is_compiling() or torch._C._current_autograd_node() is not None:
            return
        if name := self._blocks.get(id(module)):
            self.calls.append((self._of_block, self._position(), name))
        if module is self._outermost:
            self._outermost = None
            if not torch.is_grad_enabled():
                self.without_gradients.append((self._begun, self._position()))

    def blocks(self, history: History, position: int) -> Blocks | None:
        """Return the blocks whose calls have most memory in use after so many allocations: those of one class of modules."""
        begins = [begin for begin, _, _ in self.calls]
        sums: dict[str, Counter[int]] = {}
        for block in history.alive(position):
            index = bisect_right(begins, block.born - 1) - 1
            if index >= 0 and block.born <= self.calls[index][1] and _is_activation(block, self._labels):
                sums.setdefault(self.calls[index][2], Counter())[index] += block.size
        if not sums:
            return None
        name, calls = max(sums.items(), key=lambda item: item[1].total())
        return Blocks(name, len(calls), calls.total(), max(calls.values()), self._inputs[name])

    def serving(self, history: History) -> Serving | None:
        """Return what forwards without gradients took, or None if there was none."""
        calls = self.without_gradients
        if not calls:
            return None
        peaks = [history.largest(history.allocated, *span) for span in calls]
        begins = [begin for begin, _ in calls[1:]]
        kept = [_kept(history, self._labels, calls, position) for position in (begins[:1] + begins[-1:] if len(begins) > 1 else begins)]
        growth = (kept[-1] - kept[0]) // (len(begins) - 1) if len(kept) > 1 else 0
        return Serving(len(calls), peaks[0], max(peaks[1:], default=0), kept[-1] if kept else 0, max(growth, 0))


def _kept(history: History, labels: Labels, calls: list[Span], position: int) -> int:
    """Return the bytes that earlier forwards have left, such as the cache of keys and values."""
    made = [block for block in history.alive(position) if any(begin < block.born <= end for begin, end in calls)]
    return sum(block.size for block in made if labels.of(block) is None)


def _is_activation(block: Block, labels: Labels) -> bool:
    return category_of(block, labels, in_backward=False, in_optimizer=False) == ACTIVATIONS


def _repeated(module: torch.nn.Module) -> Iterator[torch.nn.Module]:
    """Yield the members of the outermost lists whose modules have one class and have parameters."""
    members = list(module.children())
    is_list = isinstance(module, torch.nn.ModuleList | torch.nn.Sequential) and len(members) > 1
    if is_list and len({type(one) for one in members}) == 1 and all(any(True for _ in one.parameters()) for one in members):
        yield from members
    else:
        yield from itertools.chain.from_iterable(map(_repeated, members))
