"""CANN's Python module acl, of the toolkit."""

from collections.abc import Callable, Iterator
from types import ModuleType

import pytest
from torch_aclnn.host import is_active
from torch_aclnn.loading.paths import python_packages


@pytest.fixture(autouse=True)
def host_engine() -> None:
    if not is_active():
        pytest.skip("a promise of the host engine, not of an NPU")


@pytest.fixture
def acl(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(python_packages()))
    import acl

    assert acl.init() in (0, acl.ACL_ERROR_REPEAT_INITIALIZE)
    assert acl.rt.set_device(0) == 0
    acl.get_recent_err_msg()
    return acl


@pytest.fixture
def stream(acl: ModuleType) -> Iterator[int]:
    handle, ret = acl.rt.create_stream()
    assert ret == 0
    yield handle
    assert acl.rt.destroy_stream(handle) == 0


@pytest.fixture
def allocate(acl: ModuleType) -> Iterator[Callable[[int], int]]:
    """Return a function that allocates device memory for the time of the test."""
    addresses = []

    def allocate_bytes(size: int) -> int:
        address, ret = acl.rt.malloc(size, acl.ACL_MEM_MALLOC_HUGE_FIRST)
        assert ret == 0
        addresses.append(address)
        return address

    yield allocate_bytes
    assert [acl.rt.free(address) for address in addresses] == [0] * len(addresses)
