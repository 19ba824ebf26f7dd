"""Libraries of entry points in ASCEND_CUSTOM_OPP_PATH that are made for the engine (torch_aclnn/custom_operator.h), and others."""

import shutil
from pathlib import Path

import pytest
from torch_aclnn.loading.paths import includedir

from support.compiler import shared_library
from support.marks import host_engine_only
from support.subprocesses import COMMAND, host_mode, output_of, run_python

pytestmark = host_engine_only
SOURCE = Path(__file__).parent / "programs" / "custom_operators.cpp"
MODES = (
    {"TASK_QUEUE_ENABLE": "0"},
    {"TASK_QUEUE_ENABLE": "1"},
    {"TASK_QUEUE_ENABLE": "2", **host_mode("async")},
    host_mode("unspecified", "isolate"),
)
GELU_MUL = """
import torch, torch_aclnn, torch_npu
x = torch.randn(3, 8)
got = torch_npu.npu_gelu_mul(x.npu().t().contiguous().t())
left, right = x.double().chunk(2, 1)
torch.testing.assert_close(got.cpu(), (torch.nn.functional.gelu(left) * right).float(), rtol=0, atol=0)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    def install(*options: str) -> str:
        directory = tmp_path_factory.mktemp("custom")
        (directory / "op_api" / "lib").mkdir(parents=True)
        strict = ["-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{includedir()}"]
        shared_library(SOURCE, directory / "op_api" / "lib" / "libcust_opapi.so", [*strict, *options])
        return str(directory)

    return install


@pytest.fixture(scope="module")
def directory(installed):
    return installed()


@pytest.mark.parametrize("environment", MODES, ids=lambda environment: ",".join(environment.values()))
def test_torch_npu_takes_the_librarys_entry_point_which_is_counted_as_the_engines(directory, environment):
    code = GELU_MUL + "print(torch_aclnn.host.statistics().calls['aclnnGeluMul'])"
    assert output_of(code, ASCEND_CUSTOM_OPP_PATH=f"/nowhere:{directory}", **environment) == "1"


REFUSED = """
import torch, torch_aclnn, torch_npu
with torch_aclnn.host.inject(""):
    try:
        torch_npu.npu_gelu_mul(torch.ones(2, 4, device="npu", dtype=torch.float16))
        torch.npu.synchronize()
    except RuntimeError as error:
        print("input: expected FLOAT of two dimensions" in str(error))
"""


def test_an_exception_refuses_the_call_with_its_text(directory):
    assert output_of(REFUSED, ASCEND_CUSTOM_OPP_PATH=directory, TASK_QUEUE_ENABLE="0") == "True"


DIRECT = """
import ctypes, os, torch, torch_aclnn
from direct import handle
library = ctypes.CDLL(os.environ["ASCEND_CUSTOM_OPP_PATH"] + "/op_api/lib/libcust_opapi.so")
x, y = torch.arange(6, dtype=torch.float32, device="npu")[::2], torch.zeros(3, device="npu")
torch.npu.synchronize()
size, executor = ctypes.c_uint64(), ctypes.c_void_p()

def first_phase(*tensors):
    return library.aclnnTwiceGetWorkspaceSize(*map(handle, tensors), ctypes.byref(size), ctypes.byref(executor))

assert first_phase(x, y) == 0 and library.aclnnTwice(None, size, executor, None) == 0
torch.npu.synchronize()
null, overlap = first_phase(None, y), first_phase(x, torch.zeros(1, device="npu").expand(3))
print(y.tolist(), torch_aclnn.host.statistics().calls["aclnnTwice"], null, overlap, library.aclnnTwice(None, size, None, None))
"""


def test_an_entry_point_of_its_own_has_the_engines_checks(directory):
    tests = SOURCE.parents[2]
    code = f"import sys; sys.path += [{str(tests)!r}, {str(tests / 'aten')!r}]\n{DIRECT}"
    assert output_of(code, ASCEND_CUSTOM_OPP_PATH=directory) == "[0.0, 4.0, 8.0] 1 161001 161002 161001"


def test_a_library_that_uses_what_only_cann_has_ends_the_import(installed):
    directory = installed("-DOF_CANN")
    done = run_python("import torch_aclnn", new=True, ASCEND_CUSTOM_OPP_PATH=directory)
    assert f"ASCEND_CUSTOM_OPP_PATH: {directory}/op_api/lib/libcust_opapi.so: undefined symbol: aclnnInnerOfCann" in done.stderr


def test_info_lists_the_library_and_one_that_is_made_for_cann(directory, tmp_path):
    of_cann = tmp_path / "op_api" / "lib" / "libcust_opapi.so"
    of_cann.parent.mkdir(parents=True)
    shutil.copy("/proc/self/exe", of_cann)
    printed = output_of("", launcher=(COMMAND, "info"), ASCEND_CUSTOM_OPP_PATH=f"{tmp_path}:{directory}")
    assert f"{of_cann}: left out, because it is made for CANN" in printed
    assert f"{directory}/op_api/lib/libcust_opapi.so: loaded" in printed
