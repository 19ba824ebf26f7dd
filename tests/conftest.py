"""What the operators' tests share: devices, and tensors in several layouts."""

import sys
from pathlib import Path

import hypothesis
import pytest
import torch

# For the benchmarks and the examples. At the end, so that an installed torch_aclnn comes before the source tree, which need not be built.
sys.path.append(str(Path(__file__).parent.parent))

DEVICES = ("cpu", "npu")


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> str:
    """The engine's device and the plain one, on which the same kernels run."""
    return request.param


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(20)


class _TorchRandom:
    """torch's generator as hypothesis wants it, so that an example that failed fails again."""

    def seed(self, value: int) -> None:
        torch.manual_seed(value)

    def getstate(self) -> torch.Tensor:
        return torch.get_rng_state()

    def setstate(self, state: torch.Tensor) -> None:
        torch.set_rng_state(state)


_torch_random = _TorchRandom()  # hypothesis keeps a weak reference
hypothesis.register_random(_torch_random)
