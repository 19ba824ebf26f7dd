"""A small training step, made to fail at each of its calls, one after the other, in one process."""

from dataclasses import dataclass, field

import torch_aclnn
import torch

LIMIT = 1000  # more calls than the step has


class Training:
    """A step from a fixed state, whose result is always the same."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model = torch.nn.Sequential(
            torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.AvgPool2d(2), torch.nn.Flatten(), torch.nn.Linear(18, 3)
        )
        self.state = {name: value.clone() for name, value in self.model.state_dict().items()}
        self.model.npu()
        self.inputs, self.targets = torch.randn(4, 1, 8, 8), torch.tensor([0, 1, 2, 1])

    def reset(self) -> None:
        self.model.load_state_dict(self.state)
        for parameter in self.model.parameters():
            parameter.grad = None
        torch.npu.synchronize()

    def step(self) -> list[torch.Tensor]:
        """Train once and return the state afterwards, with the loss."""
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        loss = torch.nn.functional.cross_entropy(self.model(self.inputs.npu()), self.targets.npu())
        loss.backward()
        optimizer.step()
        torch.npu.synchronize()
        return [loss.detach().cpu(), *(value.cpu() for value in self.model.state_dict().values())]


@dataclass
class Survived:
    """What came of the faults.

    Attributes:
        faults: how many steps had a fault.
        raised: how many of them raised, with the numbers and messages of those that did not name what failed.
        unharmed: the numbers of steps whose result was right all the same.
        wrong: the numbers of steps whose result was wrong and that raised nothing.
        spoilt: the numbers of faults after which training did not give the right result.

    """

    faults: int = 0
    raised: int = 0
    unharmed: list[int] = field(default_factory=list)
    wrong: list[int] = field(default_factory=list)
    spoilt: list[str] = field(default_factory=list)


def _equal(one: list[torch.Tensor], other: list[torch.Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def _clean_step(training: Training, expected: list[torch.Tensor]) -> str | None:
    """Return why a step without faults does not give the expected result, or None."""
    try:
        training.reset()
        return None if _equal(training.step(), expected) else "wrong values"
    except RuntimeError as error:
        return str(error).splitlines()[0]


def survive(pattern: str, first: int = 1, last: int = LIMIT) -> Survived:
    """Run the step with a fault at each call that the pattern names, from the first to the last, each followed by a step without one."""
    training, survived = Training(), Survived()
    training.reset()
    expected = training.step()
    for number in range(first, last + 1):
        training.reset()
        result = None
        with torch_aclnn.host.inject(f"{pattern}:{number}") as injected:
            try:
                result = training.step()
            except RuntimeError:
                survived.raised += 1
            happened = injected.count
        if happened == 0:
            break
        survived.faults += happened
        if result is not None:
            (survived.unharmed if _equal(result, expected) else survived.wrong).append(number)
        problem = _clean_step(training, expected)
        if problem is not None:
            survived.spoilt.append(f"{number}: {problem}")
            if len(survived.spoilt) > 3:
                break
    return survived
