"""The examples, run as a user would."""

import re
import sys
from pathlib import Path

import pytest

from subprocesses import output_of

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def curve(script: str, device: str) -> tuple[str, list[float]]:
    """Run the example and return what it prints and the number at the end of each epoch's line."""
    printed = output_of("", launcher=(sys.executable, str(EXAMPLES / script), "--device", device))
    return printed, [float(n) for n in re.findall(r"^epoch .* ([0-9.]+)$", printed, re.MULTILINE)]


@pytest.mark.slow
def test_digits_are_learnt_on_npu_along_the_curve_of_the_cpu():
    printed, losses = curve("train_digits.py", "npu")
    assert float(re.search(r"test accuracy ([0-9.]+)%", printed)[1]) >= 95
    assert "host engine (CPU) presenting Ascend910B3" in printed
    for name in ("AvgPool2d", "AdaptiveAvgPool2d", "ReplicationPad2d"):
        assert re.search(rf"aclnn{name}Backward\s+│ 140 ", printed)
    assert re.search(r"aclnnBatchNormElemtBackward\s+│ 280 ", printed)
    # Rounding differs between the two forms of batch norm and grows along the way.
    assert losses == pytest.approx(curve("train_digits.py", "cpu")[1], rel=0.05, abs=0.01)


@pytest.mark.slow
def test_volumes_are_reconstructed_on_npu_along_the_curve_of_the_cpu():
    printed, errors = curve("unpool3d_autoencoder.py", "npu")
    assert errors[-1] < errors[0] / 5
    assert re.search(r"aclnnMaxUnpool3dBackward\s+│ 64 ", printed)
    assert errors == pytest.approx(curve("unpool3d_autoencoder.py", "cpu")[1], rel=0.05, abs=1e-4)
