"""torch-aclnn check --soak: what it prints, and for what it fails."""

import pytest
import torch
from torch_aclnn.check import soak

from support.marks import host_engine_only

pytestmark = host_engine_only


class Keeps(torch.nn.Module):
    """Needs more memory in each step, of which `size` gives the megabytes and the backward frees all before the next."""

    def __init__(self, network, size):
        super().__init__()
        self.network, self.size, self.steps = network, size, 0

    def forward(self, images):
        self.steps += 1
        grown = torch.ones(self.size(self.steps) << 18, device="npu")
        return self.network(images) + 0 * grown.sum()


def broken(network):
    return torch.nn.Sequential(network, torch.nn.Threshold(float("inf"), float("nan")))


@pytest.mark.parametrize(
    ("change", "code", "last"),
    [
        (lambda network: network, 0, "passed"),
        (lambda network: Keeps(network, lambda step: 1 + (step == 7)), 0, "passed"),
        (lambda network: Keeps(network, lambda step: step), 1, "failed: the converted network needs more and more memory"),
        (broken, 1, "failed: a loss is not finite"),
    ],
)
def test_a_soak_tells_how_both_networks_fare(monkeypatch, capsys, change, code, last):
    convert = soak.convert
    monkeypatch.setattr(soak, "convert", lambda *arguments, **options: change(convert(*arguments, **options)))
    assert soak.soak(12) == code
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 14 and printed[-1] == last
