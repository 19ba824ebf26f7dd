"""Where a training step ends: when each optimizer that takes part has stepped after a backward."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

# How many steps of the others an optimizer that has never stepped is waited for: a generator may step once after five steps of its critic.
_PATIENCE = 20


@dataclass
class Steps:
    """Counts steps.

    An optimizer's second call without a backward in between belongs to the same step: DeepSpeed calls it for each part of the parameters.
    A call before any backward, as before a scheduler's first step, ends no step. If no backward has ever been seen, as those of engines
    in C++ are not, an optimizer that has gradients steps after one.

    Attributes:
        done: how many steps have ended.

    """

    done: int = 0
    _backwards: int = 0
    _seen: bool = False
    _stepped: set[Hashable] = field(default_factory=set)
    _ever: set[Hashable] = field(default_factory=set)
    _turns: int = 0

    def backward(self) -> None:
        """Note that a backward has run."""
        self._backwards += 1
        self._seen = True

    def step(self, optimizer: Hashable, known: Iterable[Hashable], has_gradients: bool = False) -> bool:
        """Note an optimizer's step, and return whether it ends a step of the training.

        Args:
            optimizer: the one that has stepped.
            known: all optimizers that exist.
            has_gradients: whether it had gradients.

        """
        if self._backwards == 0 and (self._seen or not has_gradients):
            return False
        self._stepped.add(optimizer)
        self._ever.add(optimizer)
        self._turns += 1
        patient = self._turns <= _PATIENCE
        awaited = {one for one in known if one in self._ever or patient}
        if not awaited <= self._stepped:
            return False
        self.done += 1
        self._backwards = 0
        self._stepped.clear()
        if patient:
            self._turns = 0
        return True
