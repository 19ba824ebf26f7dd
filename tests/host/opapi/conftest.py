import os

import pytest
from torch_aclnn.host import libdir

from host.opapi.client import Client


@pytest.fixture(scope="session")
def loaded_client() -> Client:
    return Client(libdir())


@pytest.fixture
def aclnn(ascendcl, loaded_client: Client) -> Client:
    """Return the client, with device 0 chosen and no error left over, on an engine that reads the contract strictly."""
    for variable, strict in (("TORCH_ACLNN_HOST_SOC", "Ascend910B3"), ("TORCH_ACLNN_HOST_FLOAT64", "0")):
        if os.environ.get(variable, strict) not in (strict, ""):
            pytest.skip(f"the contract's tables are those of the default, but {variable} is set")
    return loaded_client
