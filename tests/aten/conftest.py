"""A client of the C interface, for tests that call entry points without torch_npu."""

from collections.abc import Iterator

import pytest
from arguments import COMMUNICATOR, ROOM, Handles
from torch_aclnn.loading.paths import libdir

from support.client import Client
from support.communicator import one_rank


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
