"""Training scripts that know nothing of this package, started under ``torch-aclnn run``."""

from pathlib import Path

import pytest

from support.subprocesses import COMMAND, output_of

# Written for any accelerator; with CUDA's names it is a script of the older kind.
SCRIPT = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

assert torch.accelerator.is_available()
device = torch.device(torch.accelerator.current_accelerator())
torch.manual_seed(0)
images, labels = torch.randn(256, 1, 8, 8), torch.arange(256) % 4
images[range(256), 0, labels] += 2  # the row tells the class
loader = DataLoader(TensorDataset(images, labels), batch_size=32, shuffle=True, num_workers=1, pin_memory=True)
model = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1, padding_mode="replicate"), nn.BatchNorm2d(8), nn.ReLU(), nn.AvgPool2d(2),
    nn.Conv2d(8, 16, 3), nn.ReLU(), nn.AdaptiveAvgPool2d((2, 1)), nn.Flatten(), nn.Dropout(0.1), nn.Linear(32, 4),
).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.9)
for epoch in range(3):
    total = 0.0
    for x, y in loader:
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        total += loss.item()
    scheduler.step()
    torch.accelerator.synchronize()
    print(total / len(loader))
print(next(model.parameters()).device)
"""

FOR_CUDA = {
    "import torch\n": "import torch\nfrom torch_npu.contrib import transfer_to_npu\n",
    "assert torch.accelerator.is_available()": "assert torch.cuda.is_available()\ntorch.backends.cudnn.benchmark = True",
    "torch.device(torch.accelerator.current_accelerator())": 'torch.device("cuda:0")',
    "torch.manual_seed(0)": "torch.manual_seed(0); torch.cuda.manual_seed_all(0)",
    "x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)": "x, y = x.cuda(non_blocking=True), y.cuda()",
    "torch.accelerator.synchronize()": "torch.cuda.synchronize(); torch.cuda.empty_cache()",
    "        loss = ": "        with torch.autocast('cuda', torch.bfloat16): loss = ",
    "print(next(": """import tempfile
torch.distributed.init_process_group("nccl", init_method=f"file://{tempfile.mkdtemp()}/meeting", rank=0, world_size=1)
torch.distributed.all_reduce(torch.ones(1).cuda())
assert torch.distributed.get_backend() == "hccl"
print(next(""",
}


def learns(script: Path, text: str) -> None:
    script.write_text(text)
    *losses, device = output_of("", launcher=(COMMAND, "run", str(script))).splitlines()
    assert device == "npu:0"
    assert len(losses) == 3 and float(losses[2]) < 0.5 * float(losses[0])


@pytest.mark.slow
def test_a_script_for_any_accelerator_trains_unchanged(tmp_path):
    learns(tmp_path / "train.py", SCRIPT)


@pytest.mark.slow
def test_a_script_for_cuda_trains_with_the_import_that_torch_npu_offers_for_it(tmp_path):
    text = SCRIPT
    for generic, cuda in FOR_CUDA.items():
        assert generic in text
        text = text.replace(generic, cuda, 1)
    learns(tmp_path / "train.py", text)
