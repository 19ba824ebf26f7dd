"""The engine laid out as an installed toolkit, outside the package: what CANN looks like to torch_npu and to the loader."""

import shlex
import shutil
from pathlib import Path

import pytest
from torch_aclnn.host import libdir

from support.compiler import shared_library

# As CANN's own script does, for the parts that torch_npu looks at.
SET_ENV = """
export ASCEND_TOOLKIT_HOME={root}
export ASCEND_HOME_PATH={root}
export ASCEND_OPP_PATH={root}/opp
export ASCEND_AICPU_PATH={root}
export LD_LIBRARY_PATH={root}/lib64${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}
"""
VENDOR_SOURCE = 'extern "C" int aclnnAcmeOperator() { return 0; }\n'


@pytest.fixture(scope="session")
def toolkit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the root of the toolkit, with an operator library of the vendor "acme"."""
    root = tmp_path_factory.mktemp("toolkit")
    shutil.copytree(libdir(), root / "lib64")
    for directory in ("runtime", "compiler", "opp/vendors/acme/op_api/lib"):
        (root / directory).mkdir(parents=True)
    (root / "set_env.sh").write_text(SET_ENV.format(root=shlex.quote(str(root))))
    vendors = root / "opp" / "vendors"
    (vendors / "config.ini").write_text("load_priority=acme\n")
    source = root / "acme.cpp"
    source.write_text(VENDOR_SOURCE)
    shared_library(source, vendors / "acme/op_api/lib/libcust_opapi.so")
    return root


@pytest.fixture(scope="session")
def sourced(toolkit: Path) -> tuple[str, ...]:
    """Return what a command line begins with to run in a shell that has sourced the toolkit's set_env.sh."""
    return ("bash", "-c", f'source {shlex.quote(str(toolkit / "set_env.sh"))} && exec "$@"', "bash")
