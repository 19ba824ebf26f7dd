"""torch-aclnn check on devices that are right without being the engine: they give other bits in each call, or sum in float16."""

import ast
from pathlib import Path

import pytest
import torch
from torch_aclnn.loading.paths import includedir

from support.compiler import shared_library
from support.marks import host_engine_only, of_a2_and_a3
from support.subprocesses import output_of

pytestmark = [host_engine_only, of_a2_and_a3]

SOURCE = Path(__file__).parents[1] / "host" / "programs" / "average_pooling.cpp"
# Prints the names of the checks of avg_pool2d by status.
CHECK = """
import collections
from torch_aclnn.check import worker

jobs = worker.jobs(["avg_pool2d"], MODE, is_first=True, is_quick=True)
checks = [worker.do(job, MODE) for job in jobs if job.check in CHECKS]
found = collections.defaultdict(set)
for check in checks:
    found[check.status].add(check.check)
print(dict(found))
"""


NUMBERS = ("values", "layer")
BITS = ("determinism", "stream", "graph")


@pytest.fixture
def checked(tmp_path):
    """Return what has the names of the checks by status, on a device whose entry point is compiled with an option."""
    library = tmp_path / "op_api" / "lib" / "libcust_opapi.so"
    library.parent.mkdir(parents=True)
    of_torch = Path(torch.__file__).parent / "include"

    def checked(option: str, checks: tuple[str, ...], mode: str = "1") -> dict[str, set[str]]:
        shared_library(SOURCE, library, ["-std=c++20", "-O2", f"-I{includedir()}", f"-I{of_torch}", option])
        code = CHECK.replace("CHECKS", repr(checks)).replace("MODE", mode)
        printed = output_of(code, TASK_QUEUE_ENABLE=mode, ASCEND_CUSTOM_OPP_PATH=str(tmp_path))
        return ast.literal_eval(printed.splitlines()[-1])

    return checked


def test_other_bits_in_each_call_pass_where_algorithms_need_not_be_deterministic(checked):
    assert checked("-DBITS=!is_deterministic()", BITS) == {"passed": set(BITS)}


def test_other_bits_fail_with_deterministic_algorithms(checked):
    assert checked("-DBITS=is_deterministic()", ("determinism",)) == {"failed": {"determinism"}}


def test_sums_in_float16_pass_as_less_exact_than_the_engine(checked):
    found = checked("-DIN_FLOAT16", NUMBERS, mode="2")  # in this mode only these checks call torch_npu's own
    assert "failed" not in found and found["less exact than the engine"] == set(NUMBERS)


def test_what_is_wrong_by_half_fails_although_torch_npus_own_gives_the_same(checked):
    assert checked("-DFACTOR=1.5", NUMBERS) == {"failed": set(NUMBERS)}
