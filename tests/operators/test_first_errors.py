"""What is easily done wrong is refused in terms of what was called: the function, the parameter, what was expected and what came."""

import re

import torch_aclnn
import numpy
import pytest
import torch
from torch_aclnn import functional
from torch_aclnn.loading.modes import is_on

from support.marks import STRICT, host_engine_only

IMAGE, VOLUME, PLACES = torch.ones(1, 2, 4, 4), torch.ones(1, 1, 2, 2, 2), torch.zeros(1, 1, 2, 2, 2, dtype=torch.int64)
VALUES = torch.ones(2)


def other(device: str) -> str:
    return "cpu" if device == "npu" else "npu"


# Each takes a device, and gives a call, the exception and the end of its message, in which {device} and {other} stand for devices.
CALLS = {
    "an array": (
        lambda d: functional.avg_pool2d(numpy.ones((1, 2, 4, 4)), 2),
        TypeError,
        "avg_pool2d: input: expected a Tensor, got ndarray",
    ),
    "a list": (lambda d: functional.avg_pool2d([[1.0]], 2), TypeError, "avg_pool2d: input: expected a Tensor, got list"),
    "a module without its input's batch": (
        lambda d: torch_aclnn.nn.AvgPool2d(2)(IMAGE[0, 0].to(d)),
        ValueError,
        "avg_pool2d: input: expected 3 or 4 dimensions, got shape (4, 4)",
    ),
    "a window beyond the input": (
        lambda d: functional.avg_pool2d(IMAGE.to(d), (2, 7), padding=1),
        ValueError,
        "avg_pool2d: kernel_size: expected a window within input (1, 2, 4, 4) and padding (1, 1), got (2, 7)",
    ),
    "no output size": (
        lambda d: functional.adaptive_avg_pool2d(IMAGE.to(d), ()),
        ValueError,
        "adaptive_avg_pool2d: output_size: expected one integer or 2, got ()",
    ),
    "an image of integers": (
        lambda d: functional.adaptive_avg_pool2d(IMAGE.int().to(d), 1),
        TypeError,
        "adaptive_avg_pool2d: input: expected a floating-point dtype, got torch.int32",
    ),
    "a volume of bytes": (
        lambda d: functional.adaptive_avg_pool3d(VOLUME.byte().to(d), 1),
        TypeError,
        "adaptive_avg_pool3d: input: expected a floating-point dtype, got torch.uint8",
    ),
    "indices elsewhere": (
        lambda d: functional.max_unpool3d(VOLUME.to(d), PLACES.to(other(d)), 2),
        ValueError,
        "max_unpool3d: indices: expected device {device} like input, got {other}",
    ),
    "a module elsewhere": (
        lambda d: torch_aclnn.nn.BatchNorm2d(2).to(other(d))(IMAGE.to(d)),
        ValueError,
        "batch_norm: running_mean: expected device {device} like input, got {other}",
    ),
    "statistics elsewhere in evaluation": (
        lambda d: functional.batch_norm(IMAGE.to(d), VALUES.to(d), VALUES.to(other(d))),
        ValueError,
        "batch_norm: running_var: expected device {device} like input, got {other}",
    ),
    "a module of other channels": (
        lambda d: torch_aclnn.nn.BatchNorm2d(5).to(d)(IMAGE.to(d)),
        ValueError,
        "batch_norm: running_mean: expected shape (2,) for input (1, 2, 4, 4), got (5,)",
    ),
    "no statistics in evaluation": (
        lambda d: functional.batch_norm(IMAGE.to(d), None, None),
        ValueError,
        "batch_norm: running_mean: expected a Tensor in evaluation (training=False), got None",
    ),
    "one statistic in evaluation": (
        lambda d: functional.batch_norm(IMAGE.to(d), VALUES.to(d), None),
        ValueError,
        "batch_norm: running_var: expected a Tensor in evaluation (training=False), got None",
    ),
    "a text for a bool": (
        lambda d: functional.batch_norm(IMAGE.to(d), None, None, training="no"),
        TypeError,
        "batch_norm: training: expected a bool, got 'no'",
    ),
}


@pytest.mark.parametrize(("call", "error", "message"), CALLS.values(), ids=CALLS.keys())
def test_a_wrong_call_is_refused_by_name(device, call, error, message):
    places = {"cpu": "cpu", "npu": "npu:0"}
    message = message.replace("{device}", places[device]).replace("{other}", places[other(device)])
    with pytest.raises(error, match=re.escape(message) + "$"):
        call(device)


@pytest.mark.parametrize(("function", "given"), [("patch", torch.nn.AvgPool2d(2)), ("patch", 1), ("convert", "npu")])
def test_what_is_no_bool_does_not_count_as_one(function, given):
    module = [torch.nn.AvgPool2d(2)] if function == "convert" else []
    with pytest.raises(TypeError, match=re.escape(f"{function}: batch_norm: expected True or False, got {given!r}")):
        getattr(torch_aclnn, function)(*module, given)
    assert torch_aclnn.unpatch() == ()


@pytest.mark.parametrize("pad", [1, "1111", None])
def test_a_padding_that_is_no_list_is_refused_while_patched(pad):
    with torch_aclnn.patch(), pytest.raises(TypeError, match=r"pad(\(\)|ding): "):
        torch.nn.functional.pad(IMAGE.npu(), pad, mode="replicate")


def test_a_last_partial_window_may_begin_beyond_what_a_whole_one_needs(device):
    x = torch.randn(1, 1, 2, 2)
    expected = torch.nn.functional.avg_pool2d(x, 3, 2, ceil_mode=True)
    torch.testing.assert_close(functional.avg_pool2d(x.to(device), 3, 2, ceil_mode=True).cpu(), expected)


@pytest.mark.parametrize("training", [True, False])
def test_numpys_bool_is_a_bool(device, training):
    x, *running = torch.randn(4, 2, 3), torch.randn(2), torch.rand(2)
    expected = torch.nn.functional.batch_norm(x, *(t.clone() for t in running), training=training)
    ours = functional.batch_norm(x.to(device), *(t.to(device) for t in running), training=numpy.bool_(training))
    torch.testing.assert_close(ours.cpu(), expected, rtol=1e-4, atol=1e-5)


@host_engine_only
@pytest.mark.skipif(STRICT or is_on("float64"), reason="float64 is taken, or never is")
def test_float64_on_npu_names_the_setting_that_allows_it():
    x = torch.rand(2, 2, 4, 4, dtype=torch.float64, device="npu", requires_grad=True)
    with pytest.raises(RuntimeError, match="or DOUBLE with TORCH_ACLNN_HOST_MODE=float64, got DOUBLE"):
        torch.autograd.gradcheck(lambda x: functional.batch_norm(x, None, None, training=True), x)
