"""Training in half precision where convolutions' results are in a private format: by default on 310P, on A2 if allowed."""

import pytest

from support.subprocesses import output_of

TRAINING = """
import copy, torch, torch_aclnn, torch_npu
from torch import nn
torch_npu.npu.config.allow_internal_format = True
torch.manual_seed(0)
expected = nn.Sequential(
    nn.ReflectionPad2d(1), nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.ReplicationPad2d(1), nn.Conv2d(8, 24, 3),
    nn.BatchNorm2d(24), nn.ReLU(), nn.AvgPool2d(2), nn.ZeroPad2d(1), nn.Conv2d(24, 8, 3, groups=8), nn.AdaptiveAvgPool2d((3, 2)),
    nn.Flatten(), nn.Dropout(0.0), nn.Linear(48, 5),
).half().float()
got, images, labels = copy.deepcopy(expected).half().npu(), torch.randn(8, 3, 16, 16).half(), torch.randint(5, (8,))
formats = set()
got[1].register_forward_hook(lambda module, inputs, result: formats.add(torch_npu.get_npu_format(result).name))
losses = []
for model, device, dtype in ((expected, "cpu", torch.float32), (got, "npu", torch.float16)):
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(model(images.to(device, dtype)).float(), labels.to(device))
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
torch.testing.assert_close(losses[:4], losses[4:], rtol=1e-3, atol=0)
assert losses[3] < losses[0] - 0.05, losses
evaluated = got.eval()(images.half().npu())
print(formats, torch.isfinite(evaluated.cpu()).all().item())
"""


@pytest.mark.parametrize("soc", ["Ascend310P3", "Ascend910B3"])
def test_training_of_a_half_network(soc):
    assert output_of(TRAINING, TORCH_ACLNN_HOST_SOC=soc) == "{'NC1HWC0'} True"
