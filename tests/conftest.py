"""What the operators' tests share: devices, and tensors in several layouts."""

import pytest
import torch

DEVICES = ("cpu", "npu")


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> str:
    """The engine's device and the plain one, on which the same kernels run."""
    return request.param


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(20)
