"""The examples, run as a user would."""

import re
import sys
from pathlib import Path

import pytest

from support.subprocesses import output_of, run_python

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def curve(script: str, *arguments: str, launcher: tuple[str, ...] = (sys.executable,), **environment: str) -> tuple[str, list[float]]:
    """Run the example and return what it prints and the number at the end of each epoch's line."""
    printed = output_of("", launcher=(*launcher, str(EXAMPLES / script), *arguments), TORCH_NPU_FALLBACK_CPU_DISABLE="1", **environment)
    return printed, [float(n) for n in re.findall(r"^epoch .* ([0-9.]+)$", printed, re.MULTILINE)]


@pytest.mark.slow
def test_digits_are_learnt_on_npu_along_the_curve_of_the_cpu():
    printed, losses = curve("train_digits.py")
    assert float(re.search(r"test accuracy ([0-9.]+)%", printed)[1]) >= 95
    assert "host engine (CPU) presenting Ascend910B3" in printed
    for name in ("AvgPool2d", "AdaptiveAvgPool2d", "ReplicationPad2d"):
        assert re.search(rf"aclnn{name}Backward\s+│ 140 ", printed)
    assert re.search(r"aclnnBatchNormElemtBackward\s+│ 280 ", printed)
    # Rounding differs between the two forms of batch norm and grows along the way.
    assert losses == pytest.approx(curve("train_digits.py", "--device", "cpu")[1], rel=0.05, abs=0.01)


@pytest.fixture(scope="module")
def losses_of_one_process() -> list[float]:
    alone = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
    losses = curve("train_digits_ddp.py", "--epochs", "2", **alone)[1]
    assert len(losses) == 2
    return losses


@pytest.mark.slow
@pytest.mark.parametrize(("device", "backend"), [("npu", "hccl"), pytest.param("cpu", "gloo", marks=pytest.mark.exhaustive)])
def test_processes_learn_digits_along_the_curve_of_one(losses_of_one_process: list[float], device: str, backend: str):
    torchrun = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
    printed, losses = curve("train_digits_ddp.py", "--epochs", "2", "--device", device, launcher=torchrun)
    # What rounding makes differ, 1e-5 in the first epoch, grows tenfold with each; without synchronised batch norm it is 3e-3.
    assert losses == pytest.approx(losses_of_one_process, rel=5e-4)
    assert printed.startswith(f"2 processes over {backend}\n")
    assert printed.count("test accuracy") == 1
    assert max(map(len, printed.splitlines())) <= 80


@pytest.mark.slow
@pytest.mark.parametrize(("ranks", "message"), [
    ("", "start it with torchrun"),
    ("3", "expected a number of processes that divides the batch of 100, got 3"),
])  # fmt: skip
def test_wrong_start_of_several_processes_is_refused(ranks: str, message: str):
    done = run_python("", launcher=(sys.executable, str(EXAMPLES / "train_digits_ddp.py")), **({"WORLD_SIZE": ranks} if ranks else {}))
    assert done.returncode == 2 and message in done.stderr


# What is shown of each network after five epochs with --convert: entry points and their calls.
SHOWN = {
    "lenet": {"AvgPool2d": 180},
    "resnet": {"AdaptiveAvgPool2d": 90, "BatchNormElemt": 1800},
    "inception": {"AvgPool2d": 180, "AdaptiveAvgPool2d": 90, "BatchNormElemt": 1170},
    "unet": {"ReplicationPad2d": 450, "BatchNormElemt": 500},
    "segnet": {"MaxUnpool3d": 40, "BatchNormElemt": 60},
    "transformer": {},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name if name in ("resnet", "segnet") else pytest.param(name, marks=pytest.mark.exhaustive) for name in SHOWN]
)
def test_a_network_is_trained_on_npu_with_our_operators(name):
    printed, losses = curve("train_models.py", name, "--convert")
    assert len(losses) == 5 and losses[-1] < 0.6 * losses[0]
    shown = {key: int(calls) for key, calls in re.findall(r"aclnn(\w+)Backward\s+│ (\d+) ", printed)}
    assert shown == SHOWN[name]


@pytest.mark.slow
def test_a_training_goes_on_from_a_file_on_another_device(tmp_path):
    """Also where torch_npu is not imported, and back."""
    file = tmp_path / "digits.pt"
    runs = [("npu", {}), ("cpu", {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}), ("npu", {})]
    trained = [curve("resume_training.py", "--file", str(file), "--device", device, "--epochs", "1", **how) for device, how in runs]
    assert [printed.split("  loss")[0] for printed, _ in trained] == ["epoch  1 on npu", "epoch  2 on cpu", "epoch  3 on npu"]
    losses = [loss for _, (loss,) in trained]
    assert losses[2] < losses[1] < losses[0]
