import os
import subprocess
from collections.abc import Callable

import pytest
from torch_aclnn.loading.modes import VARIABLE, is_on
from torch_aclnn.loading.paths import libdir

from support.client import Client


@pytest.fixture(scope="session")
def loaded_client() -> Client:
    return Client(libdir())


@pytest.fixture
def aclnn(acl, loaded_client: Client) -> Client:
    """Return the client, with device 0 chosen and no error left over, on an engine that reads the contract strictly."""
    soc = ["TORCH_ACLNN_HOST_SOC"] if os.environ.get("TORCH_ACLNN_HOST_SOC", "") not in ("Ascend910B3", "") else []
    for setting in (*soc, *(f"{VARIABLE}={word}" for word in ("float64", "strict", "workspace", "unspecified") if is_on(word))):
        pytest.skip(f"the contract's tables are those of the default, but {setting} is set")
    return loaded_client


PRELUDE = f"""
import ctypes
from ctypes import byref, c_int, c_void_p
from pathlib import Path
from support.client import *
from support.operators import *
from support.tensors import *
from support.call import Operand
client = Client(Path({str(libdir())!r}))
assert client.acl.aclInit(None) == 0, client.message()
assert client.acl.aclrtSetDevice(0) == 0, client.message()
"""


@pytest.fixture(scope="session")
def run_client(run_engine: Callable[..., subprocess.CompletedProcess[str]]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs Python code in a process of its own, with `client` on an engine of these settings.

    `before` runs before the engine is loaded.
    """
    return lambda code, before="", **settings: run_engine(code, before + PRELUDE, **settings)
