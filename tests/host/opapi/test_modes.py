"""The settings that make the engine less forgiving: strict, workspace and leaks. Each case is a process of its own."""

import pytest

from host.opapi.calls import GOOD

STRICT = {"TORCH_ACLNN_HOST_STRICT": "1"}
WORKSPACE = {"TORCH_ACLNN_HOST_WORKSPACE": "1"}
LEAKS = {"TORCH_ACLNN_HOST_LEAKS": "1"}

EMPTY = "{n: {'shape': (0, *t.shape[1:]), 'values': None} for n, t in GOOD[%s].items() if isinstance(t, Tensor) and len(t.shape) > 1}"

# What the default engine takes although the document does not promise it: the call, and the parameter that strict refuses.
KINDER = {
    "empty average pooling": ("AVG_POOL2D", EMPTY % "AVG_POOL2D", "gradOutput", "at least one element"),
    "empty adaptive pooling": ("ADAPTIVE_AVG_POOL2D", EMPTY % "ADAPTIVE_AVG_POOL2D", "gradOutput", "at least one element"),
    "empty padding": ("REPLICATION_PAD2D", EMPTY % "REPLICATION_PAD2D", "gradOutput", "at least one element"),
    "empty unpooling": ("MAX_UNPOOL3D", EMPTY % "MAX_UNPOOL3D", "gradOutput", "at least one element"),
    "empty batch norm": ("BATCH_NORM_ELEMT", EMPTY % "BATCH_NORM_ELEMT", "gradOut", "at least one element"),
    "no stride": ("AVG_POOL2D", "{'stride': None}", "stride", "a value"),
    "adaptive pooling of ND": (
        "ADAPTIVE_AVG_POOL2D", "every_tensor(GOOD[ADAPTIVE_AVG_POOL2D], format=Format.ND)", "gradOutput", "format NCHW or NCL",
    ),
    "padding as large as the dimension": (
        "REPLICATION_PAD2D", "{'padding': (1, 3, 3, 0), 'gradOutput': {'shape': (2, 3, 7, 7)}}", "padding", "values below self's size of 3",
    ),
    "padding of BF16": ("REPLICATION_PAD2D", "every_tensor(GOOD[REPLICATION_PAD2D], dtype=DType.BF16)", "gradOutput", "a data type of"),
    "batch norm of BF16": ("BATCH_NORM_ELEMT", "{'input': {'dtype': DType.BF16}}", "input", "a data type of FLOAT, FLOAT16 on"),
    "batch norm without weight": ("BATCH_NORM_ELEMT", "{'weight': None}", "weight", "a value"),
}  # fmt: skip


@pytest.mark.parametrize(("entry_point", "changes", "parameter", "expected"), KINDER.values(), ids=KINDER.keys())
def test_strict_refuses_what_the_document_does_not_promise(run_client, entry_point, changes, parameter, expected):
    code = f"""
with client.call({entry_point}, but(GOOD[{entry_point}], **{changes})) as call:
    print(call.phase1(), client.sentence())
"""
    default = run_client(code)
    assert default.stdout.startswith("0 "), default
    strict = run_client(code, **STRICT)
    assert strict.stdout.startswith(("161001", "161002")), strict
    assert f": {parameter}: expected {expected}" in strict.stdout


def test_strict_takes_what_the_documents_promise(run_client):
    code = "for entry_point in GOOD: client.run(entry_point, GOOD[entry_point])\nprint('done')"
    assert run_client(code, **STRICT).stdout == "done\n"


def test_strict_and_float64_exclude_each_other(run_client):
    answer = run_client("", **STRICT, TORCH_ACLNN_HOST_FLOAT64="1")
    assert "TORCH_ACLNN_HOST_STRICT: expected 0 where TORCH_ACLNN_HOST_FLOAT64 is 1" in answer.stderr


# The workspace that a call gets, and the words of the refusal.
WORKSPACES = {
    "none": ("None, 0", "workspace: expected 1024 bytes, got null"),
    "too small": ("client.allocate(1024), 1023", "workspaceSize: expected the 1024 bytes of phase 1, got 1023"),
    "smaller than it says": ("client.allocate(512), 1024", "workspace: expected 1024 bytes of device memory, got 512 bytes to the end"),
    "of the host": ("aligned_host_memory(), 1024", "workspace: expected 1024 bytes of device memory, got an address that is in no"),
    "not aligned": ("client.allocate(4096) + 64, 1024", "workspace: expected an address that is a multiple of 512, got"),
    "freed": ("freed(), 1024", "workspace: expected 1024 bytes of device memory, got an address that is in no allocation"),
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


@pytest.mark.parametrize(("given", "words"), WORKSPACES.values(), ids=WORKSPACES.keys())
@pytest.mark.parametrize("entry_point", GOOD)
def test_workspace_must_be_what_phase_1_asked_for(run_client, entry_point, given, words):
    code = f"""{HELPERS}
with client.call({entry_point!r}, GOOD[{entry_point!r}]) as call:
    assert call.phase1() == 0 and call.workspace_size.value == 1024
    print(call.phase2(None, {given}), client.sentence())
    assert call.output().is_untouched()
"""
    answer = run_client(code, **WORKSPACE)
    assert answer.stdout.startswith(("161001 ", "161002 ")), answer
    assert words in answer.stdout, answer


def test_workspace_is_written_over_when_the_task_runs(run_client):
    code = """
for entry_point in GOOD:
    with client.call(entry_point, GOOD[entry_point]) as call:
        assert call.phase1() == 0, client.sentence()
        size = call.workspace_size.value
        workspace = client.allocate(size + 512)
        ctypes.memset(workspace, 0, size + 512)
        assert call.phase2(None, workspace, size + 512) == 0, client.sentence()
        assert client.acl.aclrtSynchronizeStream(None) == 0
        assert ctypes.string_at(workspace, size + 512) == bytes([0xA5]) * size + bytes(512)
print("done")
"""
    answer = run_client(code, **WORKSPACE)
    assert answer.stdout == "done\n", answer


def test_leaks_are_listed_when_the_process_finalizes(run_client):
    code = """
lost = client.tensor(Tensor((2, 3)), (6,), None)
array = client.int_array((1, 2))
call = client.call(AVG_POOL2D, GOOD[AVG_POOL2D])
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
    print(call.phase2(), client.sentence())
    print(late.phase1(), client.sentence())
"""
    answer = run_client(code)
    assert [line.split()[0] for line in answer.stdout.splitlines()] == ["361001", "361001"], answer
    assert answer.stdout.count("the process has called aclFinalize") == 2


@pytest.mark.parametrize("entry_point", GOOD)
def test_tensors_of_two_devices_are_refused(run_client, entry_point):
    code = f"""
output = PARAMETERS[{entry_point!r}][-3]
with client.call({entry_point!r}, GOOD[{entry_point!r}]) as call:
    assert client.acl.aclrtSetDevice(1) == 0
    elsewhere = client.allocate(4096)
    assert client.acl.aclrtSetDevice(0) == 0
    call.arguments[output] = Operand(client, GOOD[{entry_point!r}][output].but(address=elsewhere))
    print(call.phase1(), client.sentence())
"""
    answer = run_client(code, TORCH_ACLNN_HOST_DEVICES="2")
    assert answer.stdout.startswith("161002 "), answer
    assert "expected memory of device 0 like" in answer.stdout
