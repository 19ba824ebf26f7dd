"""What a CANN without a function costs: operators of torch's own, or a slower call, never the program."""

from pathlib import Path

import pytest

from support.compiler import shared_library
from support.subprocesses import output_of

TRAIN = """
import torch_aclnn, torch
model = torch_aclnn.convert(torch.nn.Sequential(torch.nn.CircularPad2d(1), torch.nn.AvgPool2d(2))).npu()
x = torch.arange(16.0).view(1, 1, 4, 4).npu().requires_grad_()
for _ in range(3):
    x.grad = None
    model(x).square().sum().backward()
torch.npu.synchronize()
print(torch_aclnn.host.statistics().calls.get("aclnnCircularPad2dBackward", 0), x.grad.sum().item())
"""


@pytest.fixture(scope="module")
def preloaded(tmp_path_factory):
    """Return the environment in which functions can be hidden."""
    library = tmp_path_factory.mktemp("hidden") / "hidden.so"
    shared_library(Path(__file__).with_name("hidden.cpp"), library)
    return {"LD_PRELOAD": str(library)}


@pytest.mark.parametrize(
    ("hidden", "calls"),
    [
        ("", "3"),
        ("aclnnCircularPad2dBackward", "0"),  # torch composes it of slices and copies
        ("PTAFindExecCache", "3"),
        ("aclrtGetResInCurrentThread", "3"),
        ("aclrtCtxGetSysParamOpt", "3"),
    ],
)
def test_a_model_trains_without_a_function(preloaded, hidden, calls):
    assert output_of(TRAIN, HIDDEN=hidden, **preloaded).split() == [calls, "135.0"]
