"""The backward of batch norm in training, which npu takes as one task: against torch's, and with a failure in each part."""

import torch_aclnn
import pytest
import torch
from torch import Tensor

from support.marks import host_engine_only
from support.subprocesses import output_of

REDUCE, FILL, ELEMENTWISE = "aclnnBatchNormReduceBackward", "aclnnInplaceFillScalar", "aclnnBatchNormElemtBackward"
EMPTY = pytest.mark.parametrize("shape", [(0, 3, 4), (2, 3, 0), (2, 0, 4)], ids=str)
SUBSETS = [names.split() for names in ("input", "weight", "bias", "input bias", "weight bias", "input weight bias")]


def inputs_on(device: str) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(0)
    shapes = {"input": (4, 3, 5, 6), "weight": (3,), "bias": (3,)}
    return {name: torch.randn(shape, generator=generator).to(device).requires_grad_() for name, shape in shapes.items()}


def normalised(function, input: Tensor, weight: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
    return function.batch_norm(input, None, None, weight, bias, training=True)


def gradients(function, inputs: dict[str, Tensor], wanted: list[str], grad_output: Tensor, **options) -> tuple[Tensor, ...]:
    return torch.autograd.grad(normalised(function, **inputs), [inputs[name] for name in wanted], grad_output, **options)


@pytest.mark.parametrize("wanted", SUBSETS, ids=" ".join)
def test_only_the_gradients_that_are_wanted(device, wanted):
    inputs, grad_output = inputs_on(device), torch.linspace(-1, 2, 360, device=device).view(4, 3, 5, 6)
    ours, theirs = (gradients(function, inputs, wanted, grad_output) for function in (torch_aclnn.functional, torch.nn.functional))
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a.cpu(), b.cpu(), rtol=1e-4, atol=1e-5)


@host_engine_only
@pytest.mark.parametrize("wanted", SUBSETS, ids=" ".join)
def test_entry_points_that_a_backward_calls(wanted):
    inputs = inputs_on("npu")
    y = normalised(torch_aclnn.functional, **inputs)
    grad_output = torch.ones_like(y)
    torch.npu.synchronize()
    torch_aclnn.host.reset()
    torch.autograd.grad(y, [inputs[name] for name in wanted], grad_output)
    torch.npu.synchronize()
    of_the_input = {FILL: 1, ELEMENTWISE: 1} if "input" in wanted else {}
    assert {name: count for name, count in torch_aclnn.host.statistics().calls.items() if count} == {REDUCE: 1} | of_the_input


@pytest.mark.parametrize("wanted", SUBSETS, ids=" ".join)
def test_batch_of_gradients_equals_a_loop(device, wanted):
    inputs, batch = inputs_on(device), torch.linspace(-1, 2, 720, device=device).view(2, 4, 3, 5, 6)
    together = gradients(torch_aclnn.functional, inputs, wanted, batch, is_grads_batched=True)
    alone = [gradients(torch_aclnn.functional, inputs, wanted, grad_output) for grad_output in batch]
    for i, found in enumerate(together):
        torch.testing.assert_close(found.cpu(), torch.stack([one[i] for one in alone]).cpu(), rtol=1e-5, atol=1e-6)


def assert_of_an_empty_batch(gradients: tuple[Tensor, ...], shape: tuple[int, ...]) -> None:
    grad_input, *of_channels = gradients
    assert grad_input.shape == shape
    assert all(torch.equal(gradient.cpu(), torch.zeros(shape[1])) for gradient in of_channels)


@EMPTY
def test_gradients_of_an_empty_batch_are_zeros(device, shape):
    x, ones = torch.empty(shape, device=device), torch.ones(shape[1], device=device)
    assert_of_an_empty_batch(torch.ops.torch_aclnn._batch_norm_backward(x, x, ones, ones, ones, 1e-5, [True] * 3), shape)


@host_engine_only
@EMPTY
def test_torchs_own_backward_of_an_empty_batch_ends_on_npu(shape):
    x, ones = torch.empty(shape, device="npu"), torch.ones(shape[1], device="npu")
    theirs = torch.ops.aten.native_batch_norm_backward(x, x, ones, None, None, ones, ones, True, 1e-5, [True] * 3)
    assert_of_an_empty_batch(theirs, shape)


# Run in a process of its own, because autograd's thread may report the error once more at a later call.
FAIL = """
import torch_aclnn, torch
x = torch.linspace(-2, 3, 360, device="npu").view(4, 3, 5, 6).requires_grad_()
y = torch_aclnn.functional.batch_norm(x, None, None, training=True)
grad_output = x.detach() ** 2
backward = lambda: torch.autograd.grad(y, x, grad_output, retain_graph=True)[0]
expected = backward().cpu()
with torch_aclnn.host.inject("{fault}:1") as injected:
    try:
        backward()
        torch.npu.synchronize()
    except RuntimeError as error:
        print("{entry_point}" in str(error), injected.count)
print(torch.equal(backward().cpu(), expected))
"""


@host_engine_only
@pytest.mark.parametrize("phase", ["GetWorkspaceSize", "@run"])
@pytest.mark.parametrize("entry_point", [REDUCE, FILL, ELEMENTWISE])
def test_failure_of_a_part_names_it_and_the_next_backward_is_right(entry_point, phase):
    assert output_of(FAIL.format(fault=entry_point + phase, entry_point=entry_point)).split() == ["True", "1", "True"]


HALF_WAY = """
import torch_aclnn, torch
running_mean, running_var = torch.zeros(3, device="npu"), torch.ones(3, device="npu")
x = (torch.randn(4, 3, 5) + 2).npu().requires_grad_()
with torch_aclnn.host.inject("aclnnBatchNormStatsGetWorkspaceSize:1"):
    try:
        torch_aclnn.functional.batch_norm(x, running_mean, running_var, training=True)
    except RuntimeError as error:
        print("aclnnBatchNormStats" in str(error))
print(torch.allclose(running_mean.cpu(), 0.1 * x.detach().cpu().mean((0, 2)), atol=1e-6))
"""


@host_engine_only
def test_a_forward_that_fails_half_way_is_not_made_again():
    assert output_of(HALF_WAY, TASK_QUEUE_ENABLE="1").split() == ["True", "True"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mean": torch.ones(2)}, r"mean: expected shape \[3\], got \[2\]"),
        ({"weight": torch.ones(3, 1)}, r"weight: expected shape \[3\], got \[3, 1\]"),
        ({"grad_output": torch.ones(4, 3, 5)}, r"grad_output: expected shape \[4, 3, 5, 6\], got \[4, 3, 5\]"),
        ({"input": torch.ones(3), "grad_output": torch.ones(3)}, "input: expected 2 to 8 dimensions, got 1"),
        ({"invstd": torch.ones(3, device="meta")}, "invstd: expected device .* like input, got meta"),
    ],
    ids=["mean", "weight", "grad_output", "input", "invstd"],
)
def test_arguments_that_do_not_fit_are_refused_by_name(device, change, words):
    ones = torch.ones(3)
    good = {"grad_output": torch.ones(4, 3, 5, 6), "input": torch.ones(4, 3, 5, 6), "weight": ones, "mean": ones, "invstd": ones}
    arguments = [t if t.is_meta else t.to(device) for t in (good | change).values()]
    with pytest.raises(RuntimeError, match=f"_batch_norm_backward: {words}"):
        torch.ops.torch_aclnn._batch_norm_backward(*arguments, 1e-5, [True] * 3)
