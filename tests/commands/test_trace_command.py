"""torch-aclnn trace: the table, its JSON, Chrome's format, and files that are no traces."""

import json
import math
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_aclnn.command.trace import chrome, summary
from torch_aclnn.command.trace.records import TraceError, read

from support.subprocesses import COMMAND

PROCESS = {"kind": "process", "time": 0.0, "pid": 7, "thread": 7, "format": 1, "unix_time": 1000.0}
OTHER = PROCESS | {"pid": 8, "thread": 8, "unix_time": 1000.5, "rank": "1"}


def call(name, time, duration, **more):
    return {"kind": "call", "time": time, "pid": 7, "thread": 7, "name": name, "duration": duration, "code": 0, "arguments": {}} | more


def task(name, time, duration, **more):
    fields = {"kind": "task", "time": time, "pid": 7, "thread": 7, "name": name, "duration": duration, "code": 0, "device": 0, "stream": 3}
    return fields | more


X = {"x": {"shape": [2, 3], "dtype": "FLOAT", "format": "ND"}}
LINES = [
    PROCESS,
    call("aclrtMalloc", 0.001, 0.002),
    call("aclnnExp", 0.010, 0.001, phase=1, call=1, arguments=X),
    task("aclnnExp", 0.012, 0.003, call=1),  # on the calling thread, within the second phase
    call("aclnnExp", 0.0115, 0.004, phase=2, call=1, device=0, stream=3),
    call("aclnnExp", 0.020, 0.001, phase=1, code=161002, message="aclnnExp: self: expected a value, got null"),
    OTHER,
    call("aclnnExp", 0.1, 0.001, phase=1, call=1, pid=8, thread=8, arguments=X),
    call("aclnnExp", 0.102, 0.001, phase=2, call=1, pid=8, thread=8),
    task("aclnnExp", 0.2, 0.005, call=1, pid=8, thread=9, stream=0),  # later, on the stream's own thread
    {"kind": "log", "time": 0.3, "pid": 8, "thread": 8, "message": "torch_npu says something"},
]


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, "trace", *map(str, arguments)], capture_output=True, text=True, timeout=60)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    file = tmp_path / "t.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    return file


def test_the_table(trace):
    done = run(trace)
    assert (done.returncode, done.stderr) == (0, "")
    header, first, second, *rest = done.stdout.splitlines()
    assert header.split() == ["entry", "point", "calls", "total", "ms", "mean", "us", "share"]
    # 1 + 4 + 1 in the first process, of which 3 are the task's, and 1 + 1 + 5 in the second
    assert first.split() == ["aclnnExp", "3", "13.000", "4333.3", "86.7%"]
    assert second.split() == ["aclrtMalloc", "1", "2.000", "2000.0", "13.3%"]
    assert [line.split() for line in rest] == [[], ["failed"], ["aclnnExp", "1"]]
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_its_json(trace):
    found = json.loads(run(trace, "--json").stdout)
    assert found["total_seconds"] == pytest.approx(0.015)
    exp, malloc = found["entry_points"]
    assert {k: exp[k] for k in ("name", "calls", "failed")} == {"name": "aclnnExp", "calls": 3, "failed": 1}
    assert exp["task_seconds"] == pytest.approx(0.008) and exp["total_seconds"] == pytest.approx(0.013)
    assert malloc["share"] == pytest.approx(2 / 15) and malloc["mean_seconds"] == pytest.approx(0.002)


def test_the_longest_name_fits(tmp_path):
    file = tmp_path / "t.jsonl"
    name = "aclnnBinaryCrossEntropyWithLogitsBackward"
    file.write_text("".join(json.dumps(line) + "\n" for line in [PROCESS, call(name, 0.0, 99999.0)]))
    assert [len(line) for line in run(file).stdout.splitlines()] == [79, 79]
    assert run(file).stdout.splitlines()[1].split() == [name, "1", "1.00e+08", "1.00e+11", "100.0%"]


def test_several_files_are_summed_up_together(trace):
    assert json.loads(run(trace, trace, "--json").stdout)["entry_points"][0]["calls"] == 6


def test_chromes_format(trace, tmp_path):
    out = tmp_path / "chrome.json"
    done = run(trace, "--chrome", out)
    assert done.returncode == 0 and done.stdout.startswith("entry point")
    events = json.loads(out.read_text())["traceEvents"]
    for event in events:
        check_event(event)
    names = {(e["pid"], e.get("tid")): e["args"]["name"] for e in events if e["ph"] == "M"}
    streams = {name: key for key, name in names.items() if name.startswith("stream")}
    assert {key: name for key, name in names.items() if key not in streams.values()} == {
        (7, None): "process 7", (7, 7): "thread 7", (8, None): "rank 1 (process 8)", (8, 8): "thread 8",
    }  # fmt: skip
    assert {name: pid for name, (pid, _) in streams.items()} == {"stream 3 of device 0": 7, "stream 0 of device 0": 8}
    tasks = [e for e in events if e.get("cat") == "task"]
    assert [(e["pid"], e["tid"]) for e in tasks] == [streams["stream 3 of device 0"], streams["stream 0 of device 0"]]
    assert [(e["ts"], e["dur"]) for e in tasks] == [(12000.0, 3000.0), (700000.0, 5000.0)]  # the second process began 0.5 s later
    assert all(e["args"]["x"] == X["x"] for e in tasks)
    assert [e["args"]["message"] for e in events if e["ph"] == "i"] == ["torch_npu says something"]
    rows = {}
    for event in events:
        if event["ph"] == "X":
            rows.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
    for spans in rows.values():  # the format requires spans to be nested or disjoint
        assert all(end <= begin for (_, end), (begin, _) in zip(sorted(spans), sorted(spans)[1:], strict=False))


def check_event(event):
    """Check the fields that the Trace Event Format asks for, by the event's phase."""
    assert isinstance(event["name"], str) and isinstance(event["pid"], int) and isinstance(event["args"], dict)
    if event["ph"] == "M":
        assert event["name"] in ("process_name", "thread_name") and ("tid" in event) == (event["name"] == "thread_name")
        return
    assert event["ph"] in ("X", "i") and isinstance(event["tid"], int) and event["ts"] >= 0 and isinstance(event["cat"], str)
    assert event["dur"] >= 0 if event["ph"] == "X" else event["s"] in ("t", "p", "g")


FIELDS = sorted({field for line in LINES for field in line} | {"skipped"})
NUMBERS = st.one_of(st.booleans(), st.integers(), st.floats())
VALUES = st.one_of(st.none(), NUMBERS, st.text(max_size=5), st.lists(st.integers(), max_size=2), st.just({}))


@settings(max_examples=60, derandomize=True)
@given(changes=st.lists(st.tuples(st.integers(0, len(LINES) - 1), st.sampled_from(FIELDS), VALUES), min_size=1, max_size=3))
def test_a_line_with_any_value_is_used_or_refused(tmp_path_factory, changes):
    lines = [dict(line) for line in LINES]
    for index, field, value in changes:
        lines[index][field] = value
    file = tmp_path_factory.getbasetemp() / "changed.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    try:
        records = list(read(file))
    except TraceError as error:
        assert re.match(rf"{file}: line \d+: expected ", str(error))
        return
    found = summary.by_entry_point(records)
    assert all(len(line) < 200 for line in summary.as_table(found)) and json.dumps(summary.as_json(found), allow_nan=False)
    json.dumps(chrome.events(records), allow_nan=False)


GOOD = json.dumps(PROCESS) + "\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected the lines of a trace, got an empty file"),
        ("hello\n", "line 1: expected a line of a trace, got 'hello'"),
        (GOOD + "[1, 2]\n", "line 2: expected a line of a trace, got '[1, 2]'"),
        (GOOD + '{"traceEvents": []}\n', "line 2: expected a line of a trace, got "),
        (GOOD + json.dumps(LINES[1])[:40], "line 2: expected a whole line, got one that ends after 40 bytes"),
        (GOOD + json.dumps({**LINES[1], "duration": "x"}) + "\n", 'line 2: expected a line of kind "call" with "duration", got '),
        (GOOD + json.dumps({**LINES[1], "call": [1]}) + "\n", 'line 2: expected a line of kind "call" with "call", got '),
        (GOOD + json.dumps({**LINES[1], "time": math.inf}) + "\n", 'line 2: expected a line of kind "call" with "time", got '),
        ('{"kind": ["call"]}\n', "line 1: expected a line of a trace, got "),
        (json.dumps(LINES[1]) + "\n", 'line 1: expected the line of kind "process" of process 7 before its other lines'),
        (json.dumps({**PROCESS, "format": 2}) + "\n", "line 1: expected a trace of format 1, got format 2, of another version"),
        ("\0\xff" * 300 + "\n", "line 1: expected a line of a trace, got "),
        ("[" * 100000 + "\n", "line 1: expected a line of a trace, got "),
    ],
)
def test_a_file_that_is_no_trace_is_named_with_the_line(tmp_path, text, message):
    file = tmp_path / "t.jsonl"
    file.write_bytes(text.encode("latin-1"))
    done = run(file)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith(f"torch-aclnn trace: {file}: {message}") and done.stderr.count("\n") == 1
    assert len(done.stderr) < 400


def test_files_that_cannot_be_read_or_written(trace, tmp_path):
    done = run(tmp_path / "missing")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"torch-aclnn trace: {tmp_path / 'missing'}: No such file or directory")
    done = run(trace, "--chrome", tmp_path / "nowhere" / "out.json")
    assert (done.returncode, done.stdout) == (2, "") and "--chrome: cannot write to " in done.stderr and done.stderr.count("\n") == 1
