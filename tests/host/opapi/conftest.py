import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from torch_aclnn.loading.modes import VARIABLE, is_on
from torch_aclnn.loading.paths import libdir

from support.client import Client


@pytest.fixture(scope="session")
def loaded_client() -> Client:
    return Client(libdir())


@pytest.fixture
def aclnn(ascendcl, loaded_client: Client) -> Client:
    """Return the client, with device 0 chosen and no error left over, on an engine that reads the contract strictly."""
    soc = ["TORCH_ACLNN_HOST_SOC"] if os.environ.get("TORCH_ACLNN_HOST_SOC", "") not in ("Ascend910B3", "") else []
    for setting in (*soc, *(f"{VARIABLE}={word}" for word in ("float64", "strict", "workspace", "unspecified") if is_on(word))):
        pytest.skip(f"the contract's tables are those of the default, but {setting} is set")
    return loaded_client


PRELUDE = """
import ctypes
from ctypes import byref, c_int, c_void_p
from pathlib import Path
from support.client import *
from support.operators import *
from support.tensors import *
from support.call import Operand
client = Client(Path({libdir!r}))
assert client.acl.aclInit(None) == 0, client.message()
assert client.acl.aclrtSetDevice(0) == 0, client.message()
"""


@pytest.fixture(scope="session")
def run_client() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs Python code in a process of its own, with `client` on an engine of these settings.

    `before` runs before the engine is loaded.
    """

    def run(code: str, before: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TORCH_ACLNN_HOST_")}
        command = [sys.executable, "-S", "-c", before + PRELUDE.format(libdir=str(libdir())) + code]
        tests = Path(__file__).parents[2]
        return subprocess.run(command, cwd=tests, env=kept | settings, capture_output=True, text=True, timeout=60)

    return run
