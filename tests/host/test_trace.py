"""TORCH_ACLNN_HOST_TRACE: the lines, and the file that they go to. docs/trace.md has the fields."""

import subprocess

import pytest

from support.subprocesses import COMMAND
from support.traces import lines_of, named, read_trace

START = "acl.aclInit(None); acl.aclrtSetDevice(0)\n"


def test_a_line_for_each_call(run_engine, tmp_path):
    file = tmp_path / "trace.jsonl"
    run_engine("acl.aclInit(None); acl.aclrtSetDevice(0); acl.aclrtSetDevice(9)", TORCH_ACLNN_HOST_TRACE=str(file))
    process, *calls = read_trace(file)
    assert process["kind"] == "process" and process["format"] == 1 and process["unix_time"] > 1.7e9
    assert [(call["kind"], call["name"], call["code"], call["arguments"]) for call in calls] == [
        ("call", "aclInit", 0, {"configPath": None}),
        ("call", "aclrtSetDevice", 0, {"deviceId": 0}),
        ("call", "aclrtSetDevice", 107001, {"deviceId": 9}),
    ]
    assert calls[2]["message"].startswith("aclrtSetDevice: deviceId: expected a device in 0..0 ")
    times = [call["time"] for call in calls]
    assert times == sorted(times) and all(call["duration"] >= 0 for call in calls)
    assert {(call["pid"], call["thread"]) for call in calls} == {(process["pid"], process["thread"])}


WORK = (
    START
    + """
memory, stream, event = acl.create("aclrtMalloc", 512, 0), acl.create("aclrtCreateStream"), acl.create("aclrtCreateEvent")
acl.aclrtMemsetAsync(memory, 512, 1, 512, stream)
acl.aclrtRecordEvent(event, stream); acl.aclrtSynchronizeStream(stream)
print(memory, stream, event)
"""
)


@pytest.mark.parametrize("mode", ["", "async"])
def test_a_task_has_a_line_with_its_stream_and_thread(run_engine, tmp_path, mode):
    file = tmp_path / "trace.jsonl"
    done = run_engine(WORK, TORCH_ACLNN_HOST_TRACE=str(file), TORCH_ACLNN_HOST_MODE=mode)
    memory, stream, event = (f"{int(handle):#x}" for handle in done.stdout.split())
    lines = read_trace(file)
    (call,) = named(lines, "aclrtMemsetAsync")
    (task,) = named(lines, "aclrtMemsetAsync", "task")
    assert call["arguments"] == {"devPtr": memory, "maxCount": 512, "value": 1, "count": 512, "stream": stream}
    assert (task["device"], task["stream"], task["code"]) == (call["device"], call["stream"], 0)
    assert task["time"] >= call["time"] and (task["thread"] != call["thread"]) == (mode == "async")
    (record,) = named(lines, "aclrtRecordEvent")
    assert record["arguments"] == {"event": event, "stream": stream} and record["stream"] == call["stream"]


def test_what_goes_to_standard_error_is_json_too(run_engine):
    text = run_engine(START, TORCH_ACLNN_HOST_TRACE="stderr").stderr
    lines = lines_of("\n".join(line for line in text.splitlines() if line.startswith("{")))
    assert [line.get("name") for line in lines] == [None, "aclInit", "aclrtSetDevice"]


def test_the_error_of_a_function_that_is_not_traced_has_a_line(run_engine, tmp_path):
    file = tmp_path / "trace.jsonl"
    run_engine(START + "acl.aclrtGetDevice(None)", TORCH_ACLNN_HOST_TRACE=str(file))
    assert read_trace(file)[-1]["message"] == "aclrtGetDevice: deviceId: expected a value, got null"


def test_without_the_variable_nothing_is_written(run_engine, tmp_path):
    done = run_engine(f"import os; os.chdir({str(tmp_path)!r})\n" + WORK, TORCH_ACLNN_HOST_TRACE="")
    assert list(tmp_path.iterdir()) == [] and "{" not in done.stderr


@pytest.mark.parametrize(
    ("path", "reason"), [("/dev/full", "No space left on device"), ("/nowhere/trace", "No such file or directory"), ("/", "Is a directory")]
)
def test_a_file_that_cannot_be_written_is_an_error_of_the_first_call(run_engine, path, reason):
    done = run_engine("print(acl.aclInit(None)); print(message()); print(acl.aclrtSetDevice(0))", TORCH_ACLNN_HOST_TRACE=path)
    message = f'aclInit: TORCH_ACLNN_HOST_TRACE: cannot write to "{path}": {reason}'
    assert done.stdout.splitlines() == ["100000", message, "100000"]


def test_a_disk_that_becomes_full_ends_the_trace_with_a_message(run_engine, tmp_path):
    file = tmp_path / "trace.jsonl"
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
    done = run_engine(limit + START + "print([acl.aclrtSetDevice(0) for i in range(20)])", TORCH_ACLNN_HOST_TRACE=str(file))
    assert done.stdout.strip() == str([0] * 20) and file.stat().st_size == 1000
    assert done.stderr.count("the trace ends here") == 1 and f'TORCH_ACLNN_HOST_TRACE: cannot write to "{file}"' in done.stderr


def test_lines_are_whole_when_the_process_is_killed(run_engine, tmp_path):
    file = tmp_path / "trace.jsonl"
    run_engine(START + "import os, signal; os.kill(os.getpid(), signal.SIGKILL)", TORCH_ACLNN_HOST_TRACE=str(file))
    assert [line.get("name") for line in read_trace(file)] == [None, "aclInit", "aclrtSetDevice"]


def test_processes_and_threads_do_not_mix_their_lines(run_engine, tmp_path):
    file = tmp_path / "trace.jsonl"
    code = START + (
        "import os, threading\n"
        "children = [os.fork() for i in range(2)]\n"  # four processes
        "threads = [threading.Thread(target=lambda: [acl.aclrtSetDevice(0) for i in range(200)]) for i in range(4)]\n"
        "for thread in threads: thread.start()\n"
        "for thread in threads: thread.join()\n"
        "for child in children:\n"
        "    if child: os.waitpid(child, 0)\n"
    )
    done = run_engine(code, TORCH_ACLNN_HOST_TRACE=str(file))
    assert done.returncode == 0, done.stderr
    lines = read_trace(file)
    calls = named(lines, "aclrtSetDevice")
    assert len(calls) == 1 + 4 * 4 * 200
    starts = [line["pid"] for line in lines if line["kind"] == "process"]
    assert len(starts) == 4 and set(starts) == {call["pid"] for call in calls}
    assert len({(call["pid"], call["thread"]) for call in calls}) >= 4 * 4


def test_a_forked_child_has_a_file_of_its_own_if_the_name_asks_for_it(run_engine, tmp_path):
    code = START + ("import os\nchild = os.fork()\nacl.aclrtSetDevice(0)\nif child: os.waitpid(child, 0); print(os.getpid(), child)\n")
    done = run_engine(code, TORCH_ACLNN_HOST_TRACE=str(tmp_path / "trace.%p.jsonl"))
    parent, child = map(int, done.stdout.split())
    names = {}
    for process in (parent, child):
        lines = read_trace(tmp_path / f"trace.{process}.jsonl")
        assert {line["pid"] for line in lines} == {process}
        names[process] = [line.get("name", line["kind"]) for line in lines]
    assert names == {parent: ["process", "aclInit", "aclrtSetDevice", "aclrtSetDevice"], child: ["process", "aclrtSetDevice"]}


def test_another_file_that_gets_the_descriptor_is_not_written_to(run_engine, tmp_path):
    file, other = tmp_path / "trace.jsonl", tmp_path / "other"
    code = START + f"import os; os.closerange(3, 100)\nwith open({str(other)!r}, 'wb'): acl.aclrtSetDevice(0)\n"
    done = run_engine(code, TORCH_ACLNN_HOST_TRACE=str(file))
    assert done.returncode == 0, done.stderr
    assert other.read_bytes() == b"" and len(named(read_trace(file), "aclrtSetDevice")) == 2


def test_a_text_of_any_bytes_is_escaped(run_engine, tmp_path):
    file, path = tmp_path / "trace.jsonl", b'/no"\\where\n\x01\xff'
    run_engine(f"acl.aclInit({path!r})", TORCH_ACLNN_HOST_TRACE=str(file))
    (call,) = named(read_trace(file), "aclInit")
    assert call["arguments"] == {"configPath": '/no"\\where\n\x01�'}


def test_the_file_is_only_for_its_owner(run_engine, tmp_path):
    file = tmp_path / "trace.jsonl"
    run_engine(START, TORCH_ACLNN_HOST_TRACE=str(file))
    assert file.stat().st_mode & 0o077 == 0


def test_the_command_reads_what_the_engine_wrote(run_engine, tmp_path):
    file = tmp_path / "trace.jsonl"
    run_engine(WORK, TORCH_ACLNN_HOST_TRACE=str(file), TORCH_ACLNN_HOST_MODE="async")
    done = subprocess.run([COMMAND, "trace", str(file)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("entry point ") and "\naclrtMemsetAsync " in done.stdout
