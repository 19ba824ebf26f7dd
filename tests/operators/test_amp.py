"""Mixed precision: what autocast leaves alone, what GradScaler does with our gradients, and where inf and nan go."""

import torch_aclnn
import pytest
import torch
from torch import nn

from support.functions import CASES, for_each_function_in_turn, gradient, on_devices_in_turn, skip_without_forward

HALVES = (torch.float16, torch.bfloat16)


@pytest.fixture(autouse=True)
def no_overflow_of_other_tests():
    if not torch.npu.utils.is_support_inf_nan():
        torch.npu.amp.GradScaler.clear_npu_overflow_flag()


# Autocast's type and that of the input, which it is not.
DTYPES = [(torch.float16, torch.float32), (torch.bfloat16, torch.float16), (torch.float16, torch.bfloat16)]


@on_devices_in_turn("case, dtypes", CASES, DTYPES)
def test_autocast_changes_neither_dtype_nor_value(device, case, dtypes):
    amp_dtype, dtype = dtypes
    skip_without_forward(case, device, dtype)
    x, *others = case.inputs(device, dtype)
    expected, expected_grad = case.ours(x, *others), gradient(case.ours, x, *others)
    with torch.amp.autocast(device, dtype=amp_dtype):
        y, grad = case.ours(x, *others), gradient(case.ours, x, *others)
    assert y.dtype == grad.dtype == dtype
    assert torch.equal(y, expected) and torch.equal(grad, expected_grad)


@for_each_function_in_turn
def test_second_derivatives_keep_the_dtype_under_autocast(device, case):
    skip_without_forward(case, device, torch.bfloat16)
    x, *others = case.inputs(device, torch.bfloat16)
    x.requires_grad_()
    with torch.amp.autocast(device, dtype=torch.float16):
        (first,) = torch.autograd.grad(case.ours(x, *others).square().sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.sin().sum(), x)
    assert first.dtype == second.dtype == torch.bfloat16


def make_model(device: str) -> nn.Sequential:
    torch.manual_seed(3)
    ours = torch_aclnn.nn
    first = ours.ReplicationPad2d(1), nn.Conv2d(1, 8, 3), ours.BatchNorm2d(8), nn.ReLU(), ours.AvgPool2d(2)
    return nn.Sequential(*first, nn.Conv2d(8, 8, 3), nn.ReLU(), ours.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 2)).to(device)


def make_data(device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Stripes of two directions."""
    labels = torch.arange(16) % 2
    stripes = (torch.arange(8) % 4 < 2).float().expand(8, 8)
    images = torch.where(labels.view(-1, 1, 1, 1).bool(), stripes, stripes.T) + 0.1 * torch.randn(16, 1, 8, 8)
    return images.to(device), labels.to(device)


def loss_of(model: nn.Module, data, device: str, amp_dtype: torch.dtype | None) -> torch.Tensor:
    images, labels = data
    with torch.amp.autocast(device, dtype=amp_dtype, enabled=amp_dtype is not None):
        return nn.functional.cross_entropy(model(images).float(), labels)


@pytest.mark.parametrize("amp_dtype", HALVES)
def test_a_network_trains_in_mixed_precision(device, amp_dtype):
    data, exact = make_data(device), make_model(device)
    loss_of(exact, data, device, None).backward()
    model = make_model(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.3, momentum=0.9)
    scaler = torch.amp.GradScaler(device, init_scale=2.0**8)
    losses = []
    for step in range(15):
        optimizer.zero_grad()
        loss = loss_of(model, data, device, amp_dtype)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        grads = [p.grad.cpu() for p in model.parameters()]
        assert all(g.isfinite().all() for g in grads)
        if step == 0:
            for ours, theirs in zip(grads, (p.grad.cpu() for p in exact.parameters()), strict=True):
                assert (ours - theirs).norm() <= 16 * torch.finfo(amp_dtype).eps * max(theirs.norm(), 0.05)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    assert losses[-1] < 0.2 * losses[0]


def scalers() -> list:
    options = {"init_scale": 64.0, "growth_interval": 3}
    torchs = [pytest.param(d, lambda d=d: torch.amp.GradScaler(d, **options), id=f"torch-{d}") for d in ("cpu", "npu")]
    return [*torchs, pytest.param("npu", lambda: torch.npu.amp.GradScaler(**options), id="torch_npu")]


@pytest.mark.parametrize(("device", "make_scaler"), scalers())
@pytest.mark.parametrize("bad", [float("inf"), float("nan")])
def test_the_scaler_skips_bad_steps_and_grows_after_good_ones(device, make_scaler, bad):
    model, scaler = make_model(device), make_scaler()
    model[2].running_mean = model[2].running_var = None  # a bad batch would stay in them, and set 310P's overflow register in each step
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    images, labels = make_data(device)
    seen = []
    for step in range(8):
        optimizer.zero_grad()
        inputs = images.clone()
        if step == 1:
            inputs[0, 0, 3, 3] = bad
        before = model[1].weight.detach().clone()
        scaler.scale(loss_of(model, (inputs, labels), device, torch.bfloat16)).backward()
        scaler.step(optimizer)
        scaler.update()
        seen.append((torch.equal(before, model[1].weight), scaler.get_scale()))
    assert seen == [(step == 1, scale) for step, scale in enumerate([64, 32, 32, 32, 64, 64, 64, 128])]


def classes(values: torch.Tensor) -> torch.Tensor:
    """Tell apart nan, +inf, -inf and finite values."""
    return torch.where(values.isnan(), 2, torch.where(values.isinf(), values.sign(), 0)).int().cpu()


@on_devices_in_turn("case, dtype", CASES, (torch.float32, *HALVES))
def test_inf_and_nan_go_where_torch_puts_them(device, case, dtype):
    skip_without_forward(case, device, dtype)
    inputs = case.inputs("cpu", dtype)
    exact = [t.double() if t.is_floating_point() else t for t in inputs]
    y = case.theirs(*exact)
    grad_output, places = torch.randn_like(y), y.flatten().nonzero()  # a zero beside unpooled elements has no input
    for value, place in zip((float("inf"), float("-inf"), float("nan")), (0, len(places) // 2, -1), strict=True):
        grad_output.view(-1)[places[place]] = value
    expected = classes(gradient(case.theirs, *exact, grad_output=grad_output))
    actual = classes(gradient(case.ours, *(t.to(device) for t in inputs), grad_output=grad_output.to(dtype).to(device)))
    assert torch.equal(actual, expected) and expected.any()
