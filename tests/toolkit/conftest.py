"""The engine laid out as an installed toolkit, outside the package: what CANN looks like to torch_npu and to the loader."""

import shlex
import shutil
from pathlib import Path

import pytest
from torch_aclnn.loading.paths import libdir

from support.compiler import shared_library

VENDOR_SOURCE = 'extern "C" int aclnnAcmeOperator() { return 0; }\n'


@pytest.fixture(scope="session")
def toolkit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the root of the toolkit, with an operator library of the vendor "acme"."""
    root = tmp_path_factory.mktemp("toolkit")
    shutil.copytree(libdir(), root / "lib64")
    for directory in ("runtime", "compiler", "opp/vendors/acme/op_api/lib"):
        (root / directory).mkdir(parents=True)
    shutil.copy(libdir().parent / "set_env.sh", root)
    vendors = root / "opp" / "vendors"
    (vendors / "config.ini").write_text("load_priority=acme\n")
    source = root / "acme.cpp"
    source.write_text(VENDOR_SOURCE)
    shared_library(source, vendors / "acme/op_api/lib/libcust_opapi.so")
    return root


@pytest.fixture(scope="session")
def sourced(toolkit: Path) -> tuple[str, ...]:
    """Return the beginning of a command line that runs in a shell which has sourced the toolkit's set_env.sh."""
    return ("bash", "-c", f'source {shlex.quote(str(toolkit / "set_env.sh"))} && exec "$@"', "bash")
