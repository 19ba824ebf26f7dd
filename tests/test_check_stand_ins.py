"""torch-aclnn check on devices that are right without being the engine: they give other bits in each call, or sum in float16."""

import ast

from support.marks import host_engine_only, of_a2_and_a3
from support.subprocesses import output_of

pytestmark = [host_engine_only, of_a2_and_a3]

# The checks of avg_pool2d by their statuses, where `compute(gradient, input, *attributes)` takes the place of the entry point.
CHECK = """
import collections, ctypes, itertools
import torch_aclnn, torch

calls = itertools.count()

def is_deterministic():
    value = ctypes.c_int64()
    return ctypes.CDLL("libascendcl.so").aclrtCtxGetSysParamOpt(0, ctypes.byref(value)) == 0 and value.value == 1

def exact(gradient, input, kernel, stride, padding, ceil_mode, count_include_pad, divisor):
    attributes = kernel, stride, padding, ceil_mode, count_include_pad, divisor or None
    return torch.ops.aten.avg_pool2d_backward(gradient.double(), input.double(), *attributes)

def other_bits(is_other):
    def compute(gradient, *arguments):
        result = exact(gradient, *arguments).to(gradient.dtype)
        ulp = torch.finfo(gradient.dtype).eps if is_other() and next(calls) % 2 else 0.0
        return result * (1 + ulp)
    return compute

def in_float16(gradient, *arguments):
    parts = torch.zeros_like(arguments[0], dtype=torch.float16)
    for row in range(gradient.shape[-2]):
        of_row = torch.zeros_like(gradient)
        of_row[..., row, :] = gradient[..., row, :]
        parts += exact(of_row, *arguments).half()
    return parts

def wrong(gradient, *arguments):
    return exact(gradient, *arguments) * 1.5

SIGNATURE = ("Tensor gradient, Tensor input, int[] kernel, int[] stride, int[] padding, bool ceil_mode, bool count_include_pad, "
             "int divisor, int8 cube_math_type, Tensor(a!) out")

@torch_aclnn.host.implement("aclnnAvgPool2dBackward", SIGNATURE, replace=True)
def backward(*arguments):
    arguments[-1].copy_(COMPUTE(*arguments[:-2]))

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


def checked(compute: str, checks: tuple[str, ...], mode: str = "1") -> dict[str, set[str]]:
    """Return the names of the checks by status."""
    code = CHECK.replace("COMPUTE", compute).replace("CHECKS", repr(checks)).replace("MODE", mode)
    return ast.literal_eval(output_of(code, TASK_QUEUE_ENABLE=mode).splitlines()[-1])


def test_other_bits_in_each_call_pass_where_algorithms_need_not_be_deterministic():
    assert checked("other_bits(lambda: not is_deterministic())", BITS) == {"passed": set(BITS)}


def test_other_bits_fail_with_deterministic_algorithms():
    assert checked("other_bits(is_deterministic)", ("determinism",)) == {"failed": {"determinism"}}


def test_sums_in_float16_pass_as_less_exact_than_the_engine():
    found = checked("in_float16", NUMBERS, mode="2")  # where torch_npu's own is asked for these alone
    assert "failed" not in found and found["less exact than the engine"] == set(NUMBERS)


def test_what_is_wrong_by_half_fails_although_torch_npus_own_gives_the_same():
    assert checked("wrong", NUMBERS) == {"failed": set(NUMBERS)}
