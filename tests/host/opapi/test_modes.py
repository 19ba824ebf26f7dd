"""The settings that make the engine stricter: strict, unspecified, workspace and leaks. Each case is a process of its own."""

import itertools

import pytest

from support.operators import ENTRY_POINTS, GOOD
from support.status import INVALID

STRICT = {"TORCH_ACLNN_HOST_MODE": "strict"}
UNSPECIFIED = {"TORCH_ACLNN_HOST_MODE": "unspecified"}
WORKSPACE = {"TORCH_ACLNN_HOST_MODE": "workspace"}
LEAKS = {"TORCH_ACLNN_HOST_MODE": "leaks"}

# What the default engine takes although the document does not promise it.
UNDOCUMENTED = [(name, case) for name, entry_point in ENTRY_POINTS.items() for case in entry_point.undocumented]


def assert_only_strict_refuses(run_client, entry_point, changes, parameter, expected, code):
    program = f"""
with client.call({entry_point!r}, but(GOOD[{entry_point!r}], **{changes})) as call:
    print(call.phase1(), client.message())
"""
    default = run_client(program)
    assert default.stdout.startswith("0 "), default
    strict = run_client(program, **STRICT)
    assert strict.stdout.startswith(str(code)), strict
    assert f": {parameter}: expected {expected}" in strict.stdout


@pytest.mark.parametrize("entry_point", [name for name, entry_point in ENTRY_POINTS.items() if not entry_point.takes_empty])
def test_strict_refuses_empty_tensors(run_client, entry_point):
    changes = f"ENTRY_POINTS[{entry_point!r}].without_elements()"
    assert_only_strict_refuses(run_client, entry_point, changes, ENTRY_POINTS[entry_point].first, "at least one element", INVALID)


@pytest.mark.parametrize(("entry_point", "case"), UNDOCUMENTED)
def test_strict_refuses_what_the_document_does_not_promise(run_client, entry_point, case):
    undocumented = ENTRY_POINTS[entry_point].undocumented[case]
    changes = f"ENTRY_POINTS[{entry_point!r}].undocumented[{case!r}].changes"
    assert_only_strict_refuses(run_client, entry_point, changes, undocumented.parameter, undocumented.expected, undocumented.code)


def test_strict_takes_what_the_documents_promise(run_client):
    code = """
for entry_point, call in GOOD.items():
    client.run(entry_point, call)
    if ENTRY_POINTS[entry_point].takes_empty:
        client.run(entry_point, but(call, **ENTRY_POINTS[entry_point].without_elements()))
print("done")
"""
    assert run_client(code, **STRICT).stdout == "done\n"


@pytest.mark.parametrize("mode", ["strict", "unspecified"])
@pytest.mark.parametrize("extension", ["float64", "keep_handles"])
def test_strict_excludes_what_no_document_has(run_client, mode, extension):
    answer = run_client("", TORCH_ACLNN_HOST_MODE=f"{mode},{extension}")
    assert f"TORCH_ACLNN_HOST_MODE: expected no {extension}, which no document has, beside {mode}, got" in answer.stderr


def test_unspecified_implies_strict_and_workspaces_and_poison(run_client):
    entry_point, case = UNDOCUMENTED[0]
    code = f"""
entry_point = ENTRY_POINTS[{entry_point!r}]
with client.prepared(entry_point.name, entry_point.good) as call:
    assert call.workspace_size.value == 1024
with client.call(entry_point.name, but(entry_point.good, **entry_point.undocumented[{case!r}].changes)) as call:
    assert call.phase1() in (161001, 161002)
assert client.acl.read(client.allocate(64), 64) == bytes([255] * 64)
print("done")
"""
    answer = run_client(code, **UNSPECIFIED)
    assert answer.stdout == "done\n", answer


# The workspace that a call gets, and the words of the refusal.
WORKSPACES = {
    "none": ("None, 0", "workspace: expected 1024 bytes, got null"),
    "too small": ("client.allocate(1024), 1023", "workspaceSize: expected the 1024 bytes of phase 1, got 1023"),
    "smaller than it says": ("client.allocate(512), 1024", "workspace: expected 1024 bytes of device memory, got 512 bytes to the end"),
    "of the host": ("aligned_host_memory(), 1024", "workspace: expected 1024 bytes of device memory, got an address that is in no"),
    "not aligned": ("client.allocate(4096) + 64, 1024", "workspace: expected an address that is a multiple of 512, got"),
    "freed": ("freed(), 1024", "workspace: expected 1024 bytes of device memory, got an address of memory that was freed"),
}
HELPERS = """
kept = []
def aligned_host_memory():
    kept.append(ctypes.create_string_buffer(4096))
    return (ctypes.addressof(kept[-1]) + 511) // 512 * 512
def freed():
    address = client.allocate(1024)
    client.free(address)
    return address
"""


# One function looks at the workspaces of all operators, which make the mistakes in turn.
@pytest.mark.parametrize(("entry_point", "mistake"), [*zip(GOOD, itertools.cycle(WORKSPACES), strict=False)])
def test_workspace_must_be_what_phase_1_asked_for(run_client, entry_point, mistake):
    given, words = WORKSPACES[mistake]
    code = f"""{HELPERS}
with client.prepared({entry_point!r}, GOOD[{entry_point!r}]) as call:
    assert call.workspace_size.value == 1024
    print(call.phase2(None, {given}), client.message())
    assert call.output().is_untouched()
"""
    answer = run_client(code, **WORKSPACE)
    assert answer.stdout.startswith(("161001 ", "161002 ")), answer
    assert words in answer.stdout, answer


def test_workspace_is_written_over_when_the_task_runs(run_client):
    code = """
for entry_point in GOOD:
    with client.prepared(entry_point, GOOD[entry_point]) as call:
        size = call.workspace_size.value
        workspace = client.allocate(size + 512)
        client.acl.write(workspace, bytes(size + 512))
        assert call.phase2(None, workspace, size + 512) == 0, client.message()
        assert client.acl.aclrtSynchronizeStream(None) == 0
        assert client.acl.read(workspace, size + 512) == bytes([0xA5]) * size + bytes(512)
print("done")
"""
    answer = run_client(code, **WORKSPACE)
    assert answer.stdout == "done\n", answer


def test_handles_are_kept_on_request(run_client):
    code = """
for entry_point, arguments in GOOD.items():
    with client.prepared(entry_point, arguments) as call:
        call.destroy_handle(ENTRY_POINTS[entry_point].first)
        assert call.phase2() == 0, client.message()
print("done")
"""
    assert run_client(code, TORCH_ACLNN_HOST_MODE="keep_handles").stdout == "done\n"


def test_leaks_are_listed_when_the_process_finalizes(run_client):
    code = """
lost = client.tensor(Tensor((2, 3)), (6,), None)
array = client.int_array((1, 2))
call = client.call("aclnnAvgPool2dBackward", GOOD["aclnnAvgPool2dBackward"])
assert call.phase1() == 0
call.executor = None
call.destroy_arguments()
assert client.acl.aclFinalize() == 0
"""
    lines = [line for line in run_client(code, **LEAKS).stderr.splitlines() if "not destroyed" in line]
    assert len(lines) == 3, lines
    assert "aclOpExecutor" in lines[0] and lines[0].endswith("of aclnnAvgPool2dBackward, which never ran")
    assert "aclTensor" in lines[1] and lines[1].endswith("of shape {2, 3} and type FLOAT")
    assert "aclIntArray" in lines[2]
    assert "not destroyed" not in run_client(code).stderr


@pytest.mark.parametrize("entry_point", GOOD)
def test_calls_after_aclfinalize_are_refused(run_client, entry_point):
    code = f"""
with client.call({entry_point!r}, GOOD[{entry_point!r}]) as call, client.call({entry_point!r}, GOOD[{entry_point!r}]) as late:
    assert call.phase1() == 0
    assert client.acl.aclFinalize() == 0
    print(call.phase2(), client.message())
    print(late.phase1(), client.message())
"""
    answer = run_client(code)
    assert [line.split()[0] for line in answer.stdout.splitlines()] == ["361001", "361001"], answer
    assert answer.stdout.count("the process has called aclFinalize") == 2


@pytest.mark.parametrize("entry_point", GOOD)
def test_tensors_of_two_devices_are_refused(run_client, entry_point):
    code = f"""
output = ENTRY_POINTS[{entry_point!r}].output
with client.call({entry_point!r}, GOOD[{entry_point!r}]) as call:
    assert client.acl.aclrtSetDevice(1) == 0
    elsewhere = client.allocate(4096)
    assert client.acl.aclrtSetDevice(0) == 0
    call.arguments[output] = Operand(client, GOOD[{entry_point!r}][output].but(address=elsewhere))
    print(call.phase1(), client.message())
"""
    answer = run_client(code, TORCH_ACLNN_HOST_DEVICES="2")
    assert answer.stdout.startswith("161002 "), answer
    assert "expected memory of device 0 like" in answer.stdout
