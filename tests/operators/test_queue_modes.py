"""The operators under every mode of torch_npu's task queue and every release of CANN, each in a process of its own."""

import torch_aclnn
import pytest
import torch
from torch_aclnn._operators import OPERATORS

from support.marks import NOT_OFFERED, OTHER_CANNS
from support.subprocesses import EACH_FUNCTION, host_mode, output_of

# Mode 1 is the default, in which all other tests run.
MODES = [{"TASK_QUEUE_ENABLE": "0"}, {"TASK_QUEUE_ENABLE": "2"}, {"ASCEND_LAUNCH_BLOCKING": "1"}]

# The gradient of each function on npu, and that on cpu; then the names of the entry points that were called.
TRAIN = (
    EACH_FUNCTION
    + """
for case in CASES:
    inputs = case.inputs("cpu")
    a, b = gradient(case.ours, *(t.npu() for t in inputs)).cpu(), gradient(case.ours, *inputs)
    assert torch.allclose(a, b, rtol=1e-3, atol=1e-5), (case.name, (a - b).abs().max())
print(sorted(name for name in torch_aclnn.host.statistics().calls))
"""
)

# Calls that are queued, which nobody waits for.
COUNTS = """
import torch_aclnn, torch
x = torch.ones(1 << 16, device="npu")
for _ in range(2):
    for _ in range(100):
        x.exp()
    print(torch_aclnn.host.statistics().calls["aclnnExp"])
    x.exp()
    torch_aclnn.host.reset()
"""

BAD_ARGUMENT = """
import torch_aclnn, torch
op = torch.ops.torch_aclnn.avg_pool2d_backward
try:
    op(torch.ones(1, 1, 2, 2, device="npu"), (1, 1, 4, 4), (2, 2), divisor_override=300)
except RuntimeError as error:
    print(error)
print(op(torch.ones(1, 1, 2, 2, device="npu"), (1, 1, 4, 4), (2, 2)).sum().item())
"""

BAD_INDEX = """
import torch_aclnn, torch
indices = torch.tensor([0, 9]).view(1, 1, 1, 1, 2).npu()
grad_output, result = torch.ones(1, 1, 1, 1, 4).npu(), torch.ones(1, 1, 1, 1, 2).npu()
try:
    torch.ops.torch_aclnn.max_unpool3d_backward.out(grad_output, indices, (1, 1, 4), (1, 1, 2), (0, 0, 0), out=result)
    if BLOCKING:
        print("was not raised at the call")
    torch.npu.synchronize()
except RuntimeError as error:
    print(error)
print(result.flatten().tolist())
"""


# What an entry point of torch_npu's own operators raises, or of ours, for a failure with the words and the last error of a device.
FAILS_IN_PHASE_2 = """
import os, re, torch_aclnn, torch
message, last_error, name = os.environ["MESSAGE"], int(os.environ["LAST_ERROR"]), os.environ["ENTRY_POINT"]
x, gradient = torch.ones(1, 1, 4, 4).npu(), torch.ones(1, 1, 2, 2).npu()
calls = {
    "aclnnNeg": x.neg,
    "aclnnAvgPool2dBackward": lambda: torch.ops.torch_aclnn.avg_pool2d_backward(gradient, (1, 1, 4, 4), (2, 2)),
}
torch.npu.synchronize()
with torch_aclnn.host.inject(f"{name}:1=561003", message, last_error):
    try:
        calls[name]()
        torch.npu.synchronize()
    except RuntimeError as error:
        print(type(error).__name__, "HBM MULTI BIT ECC ERROR" in str(error), message in str(error), flush=True)
os._exit(0)  # the device is not usable any more
"""
# The peak of the number of blocks, while calls wait in the queue.
QUEUED = """
import torch_aclnn, torch
gradient, out = torch.ones(1, 1, 2, 2).npu(), torch.empty(1, 1, 4, 4).npu()
large = torch.ones(1200, 1200).npu()
torch.npu.synchronize()
torch.npu.reset_peak_memory_stats()
before = torch.npu.memory_stats()["active.all.current"]
product = large @ large @ large @ large  # the queue works on this
for _ in range(400):
    torch.ops.torch_aclnn.avg_pool2d_backward.out(gradient, (1, 1, 4, 4), (2, 2), out=out)
print(torch.npu.memory_stats()["active.all.peak"] - before)
"""


@pytest.mark.parametrize("mode", [*MODES, *({"TORCH_ACLNN_HOST_CANN": release} for release in OTHER_CANNS)], ids=str)
def test_each_gradient_calls_its_entry_point_and_equals_that_of_the_cpu(mode):
    printed = output_of(TRAIN, **mode)
    for operator in OPERATORS:
        assert (f"'{operator.entry_point}'" in printed) == (operator.name not in NOT_OFFERED)


def raised_by(entry_point: str, mode: str, message: str, last_error: int = 0) -> str:
    settings = {"MESSAGE": message, "LAST_ERROR": str(last_error), "TASK_QUEUE_ENABLE": mode}
    return output_of(FAILS_IN_PHASE_2, ENTRY_POINT=entry_point, **settings)


@pytest.mark.parametrize("mode", ["0", "1", "2"])
def test_a_device_that_fails_in_phase_2_is_the_error_that_torch_npu_makes_of_its_own(mode):
    theirs, ours = (raised_by(name, mode, "reason=[hbm Multi-bit ECC error]", 507054) for name in ("aclnnNeg", "aclnnAvgPool2dBackward"))
    assert ours == theirs and "RuntimeError True" in ours


@pytest.mark.parametrize("mode", ["0", "1", "2"])
@pytest.mark.parametrize(
    ("message", "error"),
    [("EL0004: Failed to allocate memory", "OutOfMemoryError"), ("EZ9999: Inner Error!", "RuntimeError")],
    ids=["allocation", "other"],
)
def test_the_librarys_words_about_a_failing_phase_2_are_in_the_error(message, error, mode):
    """torch_npu's own operators have them only in mode 0: a queue on which they throw reads the words twice, and then they are gone."""
    assert raised_by("aclnnAvgPool2dBackward", mode, message) == f"{error} False True"


def test_phase_1_that_cannot_allocate_is_out_of_memory():
    gradient = torch.ones(1, 1, 2, 2).npu()
    with (
        torch_aclnn.host.inject("aclnnAvgPool2dBackwardGetWorkspaceSize:1=561003", "EL0004: Failed to allocate memory"),
        pytest.raises(torch.OutOfMemoryError, match=r"aclnnAvgPool2dBackward failed with 561003 .*EL0004"),
    ):
        torch.ops.torch_aclnn.avg_pool2d_backward(gradient, (1, 1, 4, 4), (2, 2))


def test_calls_in_the_queue_are_counted():
    assert output_of(COUNTS, TASK_QUEUE_ENABLE="1").splitlines() == ["100", "100"]


def test_calls_in_the_queue_keep_no_workspace():
    peak = output_of(QUEUED, TASK_QUEUE_ENABLE="1", **host_mode("workspace"), ACLNN_CACHE_LIMIT="0")
    assert int(peak.splitlines()[-1]) < 40


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_a_refusal_is_raised_at_the_call_and_leaves_the_device_usable(mode):
    refusal, total = output_of(BAD_ARGUMENT, **mode).splitlines()
    assert "161002" in refusal and "divisorOverride: expected a value in [-255, 255], got 300" in refusal
    assert total == "4.0"


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_a_bad_index_surfaces_at_the_synchronisation_or_with_blocking_launches_at_the_call(mode):
    printed = output_of(f"BLOCKING = {'ASCEND_LAUNCH_BLOCKING' in mode}\n{BAD_INDEX}", **mode)
    assert "507015" in printed and "not raised" not in printed and printed.endswith("[1.0, 0.0]")


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_a_missing_operator_is_named_and_leaves_the_device_usable(mode):
    code = """
    import torch_aclnn, torch, torch_npu
    x = torch.ones(2, 2).npu()
    try:
        torch_npu.npu_bert_apply_adam(0.1, 0.9, 0.99, 1e-6, x, -1.0, 0.0, 0.0, out=(x, x, x))
        torch.npu.synchronize()
    except RuntimeError as error:
        print(error)
    print((torch.ones(2).npu() + 1).tolist())
    """
    printed = output_of(code, **mode)
    assert "operator ApplyAdamV2 has no entry point in the torch_aclnn host engine" in printed and printed.endswith("[2.0, 2.0]")


def test_float64_is_an_extension_that_must_be_switched_on():
    checks = """
for case in CASES:
    # torch_npu casts no tensor to float64 on npu.
    x, *others = (t.double().npu() if t.is_floating_point() else t.npu() for t in case.inputs("cpu", torch.float64))
    for check in (torch.autograd.gradcheck, torch.autograd.gradgradcheck):
        assert check(lambda x: case.ours(x, *others), x.requires_grad_(), fast_mode=True)
print("checked")
"""
    assert output_of(EACH_FUNCTION + checks, **host_mode("float64")) == "checked"


def test_older_products_take_float32_pooling_with_a_down_cast_and_no_bfloat16():
    code = """
    import torch_aclnn, torch
    op = torch.ops.torch_aclnn.avg_pool2d_backward
    print(op(torch.ones(1, 1, 2, 2, device="npu"), (1, 1, 4, 4), (2, 2)).sum().item())
    try:
        op(torch.ones(1, 1, 2, 2, dtype=torch.bfloat16).npu(), (1, 1, 4, 4), (2, 2))
    except RuntimeError as error:
        print(error)
    """
    total, refusal = output_of(code, TORCH_ACLNN_HOST_SOC="Ascend310P3").splitlines()
    assert total == "4.0" and "expected a data type of FLOAT, FLOAT16 on Ascend310P3, got BF16" in refusal


def test_an_operator_runs_on_the_device_of_its_inputs():
    code = """
    import torch_aclnn, torch
    grad_output = torch.ones(1, 1, 2, 2, device="npu:1")
    grad_input = torch.ops.torch_aclnn.avg_pool2d_backward(grad_output, (1, 1, 4, 4), (2, 2))
    print(torch.npu.current_device(), grad_input.device, grad_input.sum().item())
    indices = torch.zeros(1, 1, 1, 1, 1, dtype=torch.int64, device="npu:0")
    try:
        torch.ops.torch_aclnn.max_unpool3d_backward(torch.ones(1, 1, 1, 1, 2, device="npu:1"), indices, (1, 1, 2), (1, 1, 1), (0, 0, 0))
    except RuntimeError as error:
        print(error)
    """
    printed, refusal = output_of(code, TORCH_ACLNN_HOST_DEVICES="2").splitlines()
    assert printed == "0 npu:1 4.0"
    assert "indices: expected device npu:1 like grad_output, got npu:0" in refusal


def test_what_a_product_does_not_offer_has_right_derivatives_without_it():
    code = """
    import torch_aclnn, torch
    x, results = torch.randn(4, 3, 5, 6), []
    pad = torch.compile(lambda x: torch_aclnn.functional.circular_pad2d(x, (1, 2, 0, 1)), backend="aot_eager", fullgraph=True)
    for inputs in (x.clone().requires_grad_(), x.npu().requires_grad_()):
        y = torch_aclnn.nn.BatchNorm2d(3, affine=False).to(inputs.device)(torch_aclnn.functional.avg_pool2d(inputs, 2))
        (first,) = torch.autograd.grad(y.sin().sum(), inputs, create_graph=True)
        (second,) = torch.autograd.grad(first.square().sum(), inputs)
        (of_padding,) = torch.autograd.grad(pad(inputs).sin().sum(), inputs)
        results.append(torch.stack([first, second, of_padding]).detach().cpu())
    torch.testing.assert_close(*results, rtol=1e-3, atol=1e-4)
    print(sorted(name for name in torch_aclnn.host.statistics().calls if name.endswith("Backward")))
    """
    assert output_of(code, TORCH_ACLNN_HOST_SOC="Ascend310P3") == "['aclnnAvgPool2dBackward']"
