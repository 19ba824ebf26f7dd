"""TORCH_ACLNN_HOST_MODE=leaks: memory, streams and events that a program leaves at aclFinalize."""

import re

from support.marks import needs_stack_of_python

LEAKS = {"TORCH_ACLNN_HOST_MODE": "leaks"}
PROGRAM = """
acl.aclInit(None); acl.aclrtSetDevice(0)
def leak():
    for size in (100, 5000): acl.create("aclrtMalloc", size, 0)
    acl.create("aclrtMallocHost", 64); acl.create("aclrtCreateStream"); acl.create("aclrtCreateEvent")
acl.aclrtFree(acl.create("aclrtMalloc", 300, 0)); acl.aclrtFreeHost(acl.create("aclrtMallocHost", 300))
acl.aclrtDestroyStream(acl.create("aclrtCreateStream")); acl.aclrtDestroyEvent(acl.create("aclrtCreateEvent"))
"""


def test_what_is_left_is_listed_with_where_it_was_made(run_engine):
    listed = run_engine(PROGRAM + "leak(); acl.aclFinalize()", **LEAKS).stderr
    found = re.findall(r"not (?:freed|destroyed) before aclFinalize: (.*), called from\n", listed)
    assert sorted(re.sub(r"0x\w+", "ADDRESS", line) for line in found) == [
        "100 bytes of device 0 at ADDRESS, allocated by aclrtMalloc, and 1 more of the kind, 5100 bytes in all",
        "64 bytes of host memory at ADDRESS, allocated by aclrtMallocHost",
        "event ADDRESS",
        "stream ADDRESS, 1 of device 0",
    ]


@needs_stack_of_python
def test_what_is_left_is_listed_with_the_lines_of_python(run_engine):
    listed = run_engine(PROGRAM + "leak(); acl.aclFinalize()", **LEAKS).stderr
    assert len(re.findall(r'File "<string>", line \d+ in leak\n', listed)) == 4


def test_a_program_that_leaves_nothing_has_an_empty_list(run_engine):
    assert "before aclFinalize" not in run_engine(PROGRAM + "acl.aclFinalize()", **LEAKS).stderr


def test_nothing_is_listed_unasked(run_engine):
    assert "before aclFinalize" not in run_engine(PROGRAM + "leak(); acl.aclFinalize()").stderr
