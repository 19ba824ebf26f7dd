"""Entry points that torch_npu calls on the 950 alone: torch's functions in a process that presents it, and their definitions."""

from pathlib import Path

import torch
import torch.nn.functional as F

from cases import DEVICE
from support.subprocesses import output_of

ON_950 = """
import sys
sys.path[:0] = {folders!r}
import test_of_the_950
for name, check in vars(test_of_the_950).items():
    if name.startswith("check_"):
        check()
        print(name)
"""


def test_in_a_process_of_the_950():
    code = ON_950.format(folders=[str(folder) for folder in Path(__file__).parents[:2]])
    assert len(output_of(code, TORCH_ACLNN_HOST_SOC="Ascend950PR_9599").split()) == 3


def check_fused_adam():
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


def check_gradient_of_dropout():
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x, grad = torch.rand(7, 31).to(dtype) + 1, torch.randn(7, 31).to(dtype)
        leaf = x.to(DEVICE).requires_grad_()
        y = F.dropout(leaf, 0.25)
        y.backward(grad.to(DEVICE))
        kept = y.detach().cpu() != 0
        assert 0.6 < kept.double().mean() < 0.9
        torch.testing.assert_close(leaf.grad.cpu(), torch.where(kept, grad.double() / 0.75, 0).to(dtype))


def check_random_numbers_of_graphs():
    """Each replay draws others, the same ones from the same seed, in their distribution."""
    x = torch.ones(40_000, device=DEVICE)
    for draw, mean, deviation in (
        (lambda: F.dropout(x, 0.25), 1.0, (1 / 3) ** 0.5),
        (lambda: torch.empty_like(x).exponential_(0.5), 2.0, 2.0),
        (lambda: torch.empty_like(x, dtype=torch.bfloat16).exponential_(4.0), 0.25, 0.25),
    ):
        graph = torch.npu.NPUGraph()
        with torch.npu.graph(graph):
            numbers = draw()
        replays = []
        for seed in (3, None, 3):
            if seed:
                torch.npu.manual_seed(seed)
            graph.replay()
            replays.append(numbers.cpu().double())
        assert replays[0].equal(replays[2]) and not replays[0].equal(replays[1])
        assert abs(replays[0].mean() - mean) < 0.02 * mean and abs(replays[0].std() - deviation) < 0.03 * deviation
        assert (replays[0] >= 0).all()
