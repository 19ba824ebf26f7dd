"""optimizer.cpp, and whole optimizers: a few steps on the NPU give what they give on the CPU."""

import ctypes
import itertools
from ctypes import c_int

import pytest
import torch
from checks import DEVICE, FLOATS, check, close

from direct import call
from support.marks import of_a2_and_a3, of_the_950

OPTIMIZERS = {
    "sgd": (torch.optim.SGD, {"lr": 0.1}),
    "sgd-momentum": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "dampening": 0.1, "weight_decay": 0.01}),
    "sgd-nesterov": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    "adam": (torch.optim.Adam, {"lr": 0.1}),
    "adam-amsgrad": (torch.optim.Adam, {"lr": 0.1, "amsgrad": True, "weight_decay": 0.01}),
    "adamw": (torch.optim.AdamW, {"lr": 0.1, "weight_decay": 0.1}),
    "adamw-maximize": (torch.optim.AdamW, {"lr": 0.1, "amsgrad": True, "maximize": True}),
    "adagrad": (torch.optim.Adagrad, {"lr": 0.1}),
    "adamax": (torch.optim.Adamax, {"lr": 0.1}),
    "nadam": (torch.optim.NAdam, {"lr": 0.1}),
    "radam": (torch.optim.RAdam, {"lr": 0.1}),
    "rmsprop": (torch.optim.RMSprop, {"lr": 0.1, "momentum": 0.9, "centered": True}),
    "adadelta": (torch.optim.Adadelta, {"lr": 0.1}),
    "adafactor": (torch.optim.Adafactor, {"lr": 0.1}),
    "asgd": (torch.optim.ASGD, {"lr": 0.1}),
    "rprop": (torch.optim.Rprop, {"lr": 0.1}),
}


def train(device, make, steps=4, count=5, **options):
    generator = torch.Generator().manual_seed(0)
    parameters = [torch.randn(n + 1, 3, generator=generator).to(device).requires_grad_() for n in range(count)]
    optimizer = make(parameters, **options)
    for _ in range(steps):
        for parameter in parameters:
            parameter.grad = torch.randn(parameter.shape, generator=generator).to(device)
        optimizer.step()
    return [parameter.detach().cpu() for parameter in parameters]


@of_the_950
def test_fused_adam_in_one_kernel():
    """torch's own kernel on the CPU in float64; scaled gradients lose their scale, and nothing changes where one was infinite."""
    shapes = [(3,), (2, 4), (0,)]
    for dtype, tolerance in ((torch.float32, 1e-5), (torch.bfloat16, 2e-2)):
        for amsgrad, maximize, found in ((False, False, None), (True, True, None), (True, False, 0.0), (False, True, 1.0)):
            here = [[torch.rand(shape).to(dtype).double() for shape in shapes] for _ in range(5 if amsgrad else 4)]
            there = [[x.to(dtype).to(DEVICE) for x in tensors] for tensors in here]
            for step in (1.0, 2.0, 3.0):
                for params, grads, means, squares, *largest, device in ((*here, "cpu"), (*there, DEVICE)):
                    scaled = {} if found is None else {"grad_scale": 8.0, "found_inf": found}
                    steps = [torch.tensor(step, device=device)] * len(shapes)
                    torch._fused_adam_(
                        params, grads, means, squares, largest[0] if amsgrad else [], steps, lr=0.1, beta1=0.9, beta2=0.99,
                        weight_decay=0.01, eps=1e-6, amsgrad=amsgrad, maximize=maximize,
                        **{name: torch.tensor(x, device=device) for name, x in scaled.items()},
                    )  # fmt: skip
            for expected, got in zip(here, there, strict=True):
                for want, have in zip(expected, got, strict=True):
                    torch.testing.assert_close(have.cpu().double(), want, rtol=tolerance, atol=tolerance)


FUSED = [name for name in OPTIMIZERS if name.startswith(("adam-", "adamw", "sgd-")) or name == "adam"]
WAYS = [*itertools.product(OPTIMIZERS, ("single", "foreach")), *itertools.product(FUSED, ("fused",))]


@pytest.mark.parametrize(("name", "way"), WAYS)
def test_optimizer(name, way):
    make, options = OPTIMIZERS[name]
    got = train(DEVICE, make, **options | {"fused": True} if way == "fused" else options | {"foreach": way == "foreach"})
    close(got, train("cpu", make, foreach=False, **options))


@pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="torch 2.8 and earlier do not have it")
def test_muon():
    """Muon orthogonalises a momentum in bfloat16, so the error is a last place of that type, times the rate."""
    close(train(DEVICE, torch.optim.Muon, lr=0.1), train("cpu", torch.optim.Muon, lr=0.1), atol=0.1 * 2**-6)


def test_lbfgs():
    def fit(device):
        generator = torch.Generator().manual_seed(0)
        inputs, targets, weight = (torch.randn(shape, generator=generator).to(device) for shape in ((12, 4), (12, 3), (4, 3)))
        optimizer = torch.optim.LBFGS([weight.requires_grad_()], max_iter=5, line_search_fn="strong_wolfe")

        def closure():
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(inputs @ weight, targets)
            loss.backward()
            return loss

        return [optimizer.step(closure).cpu() for _ in range(2)] + [weight.detach().cpu()]

    torch.testing.assert_close(fit(DEVICE), fit("cpu"), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("types", [(torch.float32, torch.bfloat16), (torch.bfloat16, torch.float32)], ids=str)
def test_gradient_of_another_type_than_the_parameter(types):
    """aclnnApplyAdamWV2 takes them so; the moments are of FLOAT."""
    generator = torch.Generator().manual_seed(0)
    values, grad = (torch.randn(4, 3, generator=generator).to(dtype) for dtype in types)
    there = [t.to(DEVICE) for t in (values, torch.zeros(4, 3), torch.zeros(4, 3))]
    step, numbers = torch.zeros(1, device=DEVICE), [ctypes.c_float(x) for x in (0.1, 0.9, 0.999, 0.1, 1e-8)]
    call("aclnnApplyAdamWV2", *there, None, grad, step, *numbers, False, False)
    # One step from no moments: the direction is the gradient's sign.
    exact = values.double() * (1 - 0.1 * 0.1) - 0.1 * grad.double() / (grad.double().abs() + 1e-8)
    torch.testing.assert_close(there[0].cpu().double(), exact, rtol=1e-2 if values.dtype == torch.bfloat16 else 1e-5, atol=1e-5)
    torch.testing.assert_close(there[1].cpu().double(), grad.double() * 0.1, rtol=1e-5, atol=1e-7)


# Others have an overflow register, which an infinity of the test's own does not set (tests/by_name/test_overflow.py).
@of_a2_and_a3
@pytest.mark.parametrize("bad", [None, float("inf"), float("nan")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_unscale(bad, dtype):
    grads = [torch.full((3,), 8.0, dtype=dtype, device=DEVICE), torch.full((2, 2), -4.0, dtype=dtype, device=DEVICE)]
    if bad is not None:
        grads[1][0, 1] = bad
    found, inverse = torch.zeros(1, device=DEVICE), torch.full((1,), 0.25, device=DEVICE)
    torch._amp_foreach_non_finite_check_and_unscale_(grads, found, inverse)
    assert found.item() == (bad is not None)
    assert grads[0].cpu().tolist() == [2, 2, 2]
    torch._amp_foreach_non_finite_check_and_unscale_([torch.ones(2, device=DEVICE)], found, inverse)
    assert found.item() == (bad is not None), "a finite list must not take the finding back"


@pytest.mark.parametrize("found, tracker, expected", [(0.0, 0, (8.0, 1)), (0.0, 2, (16.0, 0)), (1.0, 2, (2.0, 0))])
def test_update_scale(found, tracker, expected):
    scale, tracker = torch.tensor(8.0, device=DEVICE), torch.tensor(tracker, dtype=torch.int32, device=DEVICE)
    torch._amp_update_scale_(scale, tracker, torch.tensor([found], device=DEVICE), 2.0, 0.25, 3)
    assert (scale.item(), tracker.item()) == expected


@of_a2_and_a3
def test_grad_scaler():
    """A step with an infinite gradient is skipped and halves the scale."""
    parameter = torch.ones(3, device=DEVICE, requires_grad=True)
    optimizer = torch.optim.SGD([parameter], lr=0.5)
    scaler = torch.amp.GradScaler(DEVICE, init_scale=64.0)
    for factor, value, scale in ((1.0, 0.5, 64.0), (float("inf"), 0.5, 32.0), (1.0, 0.0, 32.0)):
        optimizer.zero_grad()
        scaler.scale((parameter * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        assert parameter.detach().cpu().tolist() == [value] * 3 and scaler.get_scale() == scale


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_fused_sgd_of_half_types(dtype):
    shape, generator = (3, 17), torch.Generator().manual_seed(0)
    x, grad, buffer = (torch.randn(shape, generator=generator).to(dtype) for _ in range(3))
    moved = 0.9 * buffer.double() + 0.5 * (grad.double() + 0.1 * x.double())
    there = [tensor.to(DEVICE) for tensor in (x, grad, buffer)]
    options = {"weight_decay": 0.1, "momentum": 0.9, "dampening": 0.5, "nesterov": False, "maximize": False, "is_first_step": False}
    torch._fused_sgd_(*([tensor] for tensor in there), lr=0.2, **options)
    torch.testing.assert_close(there[2].cpu(), moved.to(dtype))
    torch.testing.assert_close(there[0].cpu(), (x.double() - 0.2 * moved).to(dtype))


@pytest.mark.parametrize("dtype", FLOATS[:2], ids=str)
def test_signs_in_bits(dtype):
    """Pack the example of op-plugin's page of npu_sign_bits_pack, and unpack it."""
    numbers = torch.tensor([5, 4, 3, 2, 0, -1, -2, 4, 3, 2, 1, 0, -1, -2], dtype=dtype)
    packed = torch.tensor([[159], [15]], dtype=torch.uint8)
    check("aclnnSignBitsPack", (numbers, 2), packed)
    signs = [*torch.where(numbers >= 0, 1.0, -1.0).tolist(), -1, -1]
    number = c_int(0 if dtype == torch.float32 else 1)
    check("aclnnSignBitsUnpack", (packed.flatten(), 2, number), torch.tensor(signs).view(2, 8), dtype=dtype)
