"""A client of the C interface, for tests that call entry points without torch_npu."""

from collections.abc import Callable, Iterator

import torch_aclnn  # noqa: F401  (it must be imported before torch)
import pytest
import torch
from arguments import COMMUNICATOR, ROOM, Handles
from torch_aclnn.loading.paths import libdir

from support.client import Client
from support.communicator import one_rank
from support.dtypes import Format
from support.marks import PRODUCT


def pytest_runtest_setup(item: pytest.Item) -> None:
    if PRODUCT != "950" and item.get_closest_marker("of_the_950"):
        pytest.skip("of the 950")


@pytest.fixture(scope="module")
def client() -> Client:
    client = Client(libdir())
    assert client.acl.aclrtSetDevice(0) == 0
    return client


@pytest.fixture(scope="module")
def handles(client: Client) -> Iterator[Handles]:
    memory = client.allocate(4096 * ROOM)
    made = Handles(client, memory, 4096)
    yield made
    made.destroy()
    client.free(memory)


@pytest.fixture(scope="session", autouse=True)
def communicator() -> Iterator[None]:
    """Make the communicator that sound calls name."""
    with one_rank(COMMUNICATOR):
        yield


@pytest.fixture
def in_blocks() -> Iterator[Callable[..., torch.Tensor]]:
    """What casts a weight, or what it is the transposition of, into blocks on the device (FRACTAL_NZ)."""
    import torch_npu

    def cast(weight: torch.Tensor, transposed: bool = False) -> torch.Tensor:
        there = torch_npu.npu_format_cast((weight.mT.contiguous() if transposed else weight).to("npu"), int(Format.FRACTAL_NZ))
        assert torch_npu.get_npu_format(there) == Format.FRACTAL_NZ
        return there.mT if transposed else there

    torch_npu.npu.config.allow_internal_format = True  # the setting cannot be read; False is the default
    yield cast
    torch_npu.npu.config.allow_internal_format = False
