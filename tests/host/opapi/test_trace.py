"""The operators in the trace: their arguments by name, both phases, and the task."""

import json

import pytest

from support.dtypes import DType, Format
from support.operators import ENTRY_POINTS
from support.tensors import Tensor
from support.traces import named, read_trace

CALLS = """
from support.probe import outcome
import json
print(json.dumps([outcome(client, name, call)[0] for name, call in GOOD.items()]))
"""


def described(value):
    if isinstance(value, Tensor):
        return {"shape": list(value.shape), "dtype": DType(value.dtype).name, "format": Format(value.real_format()).name}
    return list(value) if isinstance(value, tuple) else value


@pytest.fixture(scope="module", params=["", "async"], ids=["synchronous", "asynchronous"])
def trace(request, run_client, tmp_path_factory):
    file = tmp_path_factory.mktemp("trace") / "trace.jsonl"
    done = run_client(CALLS, TORCH_ACLNN_HOST_TRACE=str(file), TORCH_ACLNN_HOST_MODE=request.param)
    assert set(json.loads(done.stdout)) == {0}
    return request.param == "async", read_trace(file)


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_both_phases_and_the_task_of_each_operator(trace, name):
    asynchronous, lines = trace
    first, second = named(lines, name)
    (task,) = named(lines, name, "task")
    assert first["arguments"] == {
        parameter: described(ENTRY_POINTS[name].good.get(parameter))
        for parameter in ENTRY_POINTS[name].parameters
        if parameter not in ("workspaceSize", "executor")
    }
    assert (first["phase"], second["phase"]) == (1, 2) and first["call"] == second["call"] == task["call"] > 0
    assert first["code"] == second["code"] == task["code"] == 0
    assert (second["device"], second["stream"]) == (task["device"], task["stream"])
    assert first["time"] + first["duration"] <= second["time"] <= task["time"]
    assert (task["thread"] != second["thread"]) == asynchronous


REFUSED = """
from support.probe import outcome
name = "aclnnAvgPool2dBackward"
freed = client.tensor(GOOD[name]["self"], (16,), None)
client.destroy("Tensor", freed)
with client.call(name, GOOD[name]) as call:
    own, call["self"].handle = call["self"].handle, freed
    print(call.phase1(), flush=True)
    call["self"].handle = own
"""


def test_a_handle_that_is_not_live_is_not_followed(run_client, tmp_path):
    file = tmp_path / "trace.jsonl"
    done = run_client(REFUSED, TORCH_ACLNN_HOST_TRACE=str(file))
    assert done.stdout.strip() == "161002", done.stderr
    (call,) = named(read_trace(file), "aclnnAvgPool2dBackward")
    assert "call" not in call and call["code"] == 161002 and call["message"].startswith("aclnnAvgPool2dBackward: self: ")
    assert call["arguments"]["self"].endswith("which has been destroyed or never was one")


FAILING = """
name = "aclnnMaxUnpool3dBackward"
bad = GOOD[name]["indices"].but(values=[1 << 40] * len(GOOD[name]["indices"].positions()))
with client.call(name, but(GOOD[name], indices=bad)) as first, client.call(name, GOOD[name]) as second:
    for call in (first, second):
        assert call.phase1() == 0 and call.phase2() == 0
    client.acl.aclrtSynchronizeStream(None)
"""


@pytest.mark.parametrize("mode", ["", "async"])
def test_the_task_that_failed_and_the_one_that_was_skipped(run_client, tmp_path, mode):
    file = tmp_path / "trace.jsonl"
    run_client(FAILING, TORCH_ACLNN_HOST_TRACE=str(file), TORCH_ACLNN_HOST_MODE=mode)
    failed, skipped = named(read_trace(file), "aclnnMaxUnpool3dBackward", "task")
    assert failed["code"] == skipped["code"] != 0 and failed["message"] == skipped["message"]
    assert "skipped" not in failed and skipped["skipped"] is True and skipped["duration"] == 0
