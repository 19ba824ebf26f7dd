"""Faults on purpose, as a training with torch_npu sees them: exceptions at the right place, and a process that goes on or ends cleanly."""

from pathlib import Path

import torch_aclnn
import pytest
import torch

from support.marks import host_engine_only
from support.subprocesses import host_mode, output_of, run_python

pytestmark = host_engine_only

TESTS = str(Path(__file__).parents[1])
STREAMS = {"inline": host_mode(without=("async",)), "asynchronous": host_mode("async")}
MODES = {f"queue {queue}, {name}": {"TASK_QUEUE_ENABLE": queue, **streams} for queue in "012" for name, streams in STREAMS.items()}
EVERY_MODE = pytest.mark.parametrize("mode", MODES.values(), ids=MODES)

SURVIVE = f"""
import sys; sys.path.append({TESTS!r})
from support.injected_training import survive
for pattern in PATTERNS:
    found = survive(pattern)
    assert found.faults == found.raised >= 20 and not (found.unharmed or found.wrong or found.spoilt), (pattern, found)
    print(pattern, found.faults)
"""


def counted(printed: str) -> dict[str, int]:
    return {line.split()[0]: int(line.split()[1]) for line in printed.splitlines()}


@pytest.mark.exhaustive
def test_a_step_that_fails_at_any_call_raises_and_the_next_one_is_right():
    """Calls run on the program's thread here. On torch_npu's queue a call that fails ends the queue (below)."""
    patterns = ["aclnn*", "aclrt*", "*@run"]
    found = counted(output_of(f"PATTERNS = {patterns}\n{SURVIVE}", TASK_QUEUE_ENABLE="0"))
    assert list(found) == patterns and found["aclnn*"] == 2 * found["*@run"]


@pytest.mark.exhaustive
@EVERY_MODE
def test_a_step_in_which_any_operator_fails_on_the_device_raises_and_the_next_one_is_right(mode):
    assert counted(output_of(f"PATTERNS = ['*@run']\n{SURVIVE}", **mode))["*@run"] >= 20


def test_one_allocation_that_fails_is_survived_by_torch_npu_itself_and_counted_beyond_the_context():
    torch.npu.empty_cache()
    with torch_aclnn.host.inject("alloc:1") as injected:
        assert torch.ones(1 << 24, device="npu").sum().item() == 1 << 24
    assert injected.count == 1
    with torch_aclnn.host.inject("alloc:1"):
        assert injected.count == 1


def test_a_wrong_result_is_that_of_the_call_that_was_asked_for():
    x = torch.linspace(-2, 2, 12, device="npu").view(3, 4)
    out = torch.zeros(4, 3, device="npu").t()
    torch.npu.synchronize()
    with torch_aclnn.host.inject("aclnnExp@result:2") as injected:
        right, wrong = x.exp(), torch.exp(x, out=out)
        torch.npu.synchronize()
    assert injected.count == 1 and torch.equal(right.cpu(), x.cpu().exp())
    assert torch.equal(~wrong.cpu().contiguous().view(torch.int32), right.cpu().view(torch.int32))


CATCH = """
import torch, torch_aclnn
x = torch.ones(4, device="npu")
torch.npu.synchronize()
def attempt(faults, call):
    with torch_aclnn.host.inject(faults):
        try:
            call()
            torch.npu.synchronize()
        except RuntimeError as error:
            return type(error).__name__, str(error)
"""

# What a program catches, and that it goes on: an operator that fails, no memory, a stream that dies.
RECOVER = (
    CATCH
    + f"""
import sys; sys.path.append({TESTS!r})
from support.injected_training import Training
training = Training()
training.reset()
expected = training.step()
def goes_on():
    training.reset()
    return all(torch.equal(one, other) for one, other in zip(training.step(), expected, strict=True))

name, message = attempt("aclnnExp@run:1", x.exp)
print("operator", "aclnnExp" in message, "507015" in message, "a fault was injected" in message, goes_on())

name, message = attempt("alloc:1-", lambda: torch.ones(1 << 26, device="npu"))
print("memory", name, "out of memory" in message, goes_on())

with torch_aclnn.host.inject("stream:1"):
    for _ in range(2):
        try:
            x.exp()
            torch.npu.synchronize()
        except RuntimeError as error:
            print("dead", "507001" in str(error))
    with torch.npu.stream(torch.npu.Stream()):
        print("another", x.exp().sum().item() > 10)
print("stream", goes_on())
"""
)
RECOVERED = ["operator True True True True", "memory OutOfMemoryError True True", "dead True", "dead True", "another True", "stream True"]


@EVERY_MODE
def test_a_program_catches_what_fails_and_trains_on(mode):
    assert output_of(RECOVER, **mode).splitlines() == RECOVERED


@pytest.mark.parametrize("mode", ["0", "1", "2"])
@pytest.mark.parametrize("function", ["aclnnExpGetWorkspaceSize", "aclnnExp"])
def test_a_call_that_fails_raises_in_every_mode_and_the_process_ends(mode, function):
    """Where it fails on the thread of torch_npu's queue, torch_npu drops all later work, as it does on an NPU."""
    code = f"""{CATCH}
_, message = attempt("{function}:1=161002", x.exp)
print("Exp" in message)
"""
    done = run_python(code, TASK_QUEUE_ENABLE=mode)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
    assert f'torch_aclnn: fault injection, "{function}:1=161002", number 1: {function} returns 161002' in done.stderr


LOSE = """
import torch, torch_aclnn
x = torch.ones(4, device="npu")
for step in range(100):
    x = x * 2
    torch.npu.synchronize()
"""


def test_a_lost_device_is_an_exception_and_the_process_ends():
    done = run_python(LOSE, TORCH_ACLNN_HOST_FAULT="device:5")
    assert done.returncode == 1 and "507010" in done.stderr and "Traceback" in done.stderr
    assert 'torch_aclnn: fault injection, "device:5", number 5: ' in done.stderr


@EVERY_MODE
def test_a_program_that_catches_the_loss_of_its_device_ends_cleanly(mode):
    code = "\n".join(
        ["try:", *(f"    {line}" for line in LOSE.strip().splitlines()), "except RuntimeError as error:", "    print('caught')"]
    )
    done = run_python(code, TORCH_ACLNN_HOST_FAULT="device:5", **mode)
    assert (done.returncode, done.stdout) == (0, "caught\n"), done.stderr


def test_another_device_goes_on_when_one_is_lost():
    code = """
    import torch, torch_aclnn
    one, other = torch.ones(2, device="npu:0"), torch.ones(2, device="npu:1")
    torch.npu.synchronize(0), torch.npu.synchronize(1)
    with torch_aclnn.host.inject("device:1"):
        for x in (one, one, other):
            try:
                with torch.npu.device(x.device):
                    print((x + 1).sum().item())
            except RuntimeError as error:
                print("507010" in str(error))
    """
    assert output_of(code, TORCH_ACLNN_HOST_DEVICES="2", TASK_QUEUE_ENABLE="0").splitlines() == ["True", "True", "4.0"]


def test_a_text_that_is_not_in_the_grammar_is_a_value_error():
    with (
        pytest.raises(ValueError, match=r'torch_aclnn.host.inject: expected faults as <what>:<when>.*got "aclnnExp"'),
        torch_aclnn.host.inject("aclnnExp"),
    ):
        pass


def test_a_second_context_is_refused():
    again = torch_aclnn.host.inject("alloc:1")
    with torch_aclnn.host.inject("alloc:1"), pytest.raises(RuntimeError, match="faults are being injected already"), again:
        pass
    with torch_aclnn.host.inject("alloc:1"):
        pass


def test_nothing_of_a_context_is_left_when_it_ends_with_an_exception():
    with pytest.raises(KeyError), torch_aclnn.host.inject("*@run:1-"):
        raise KeyError
    assert torch.ones(2, device="npu").exp().sum().item() > 5
